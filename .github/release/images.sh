#!/bin/sh
# Images are stored by digest, signed, and tagged last.
#   images.sh list METADATA REGISTRY VERSION   prints [{name, digest, tag}] of a bake; an image that has its tag already
#                                              counts as it is, so that a second run finishes the first
#   images.sh tag LIST                         tags them; a tag with another digest ends it before anything changes
set -eu

# Prints the digest of NAME:TAG, or nothing if the registry has no such tag.
digest_of() {
  if printed="$(docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}' 2>&1)"; then
    echo "$printed"
  elif ! echo "$printed" | grep --quiet --ignore-case 'not found'; then
    echo "$1: $printed" >&2
    return 1
  fi
}

case $1 in
  list)
    metadata=$2 registry=$3 version=$4
    rows="$(
      jq --raw-output 'to_entries[] | select(.value["containerimage.digest"]?) | "\(.key) \(.value["containerimage.digest"])"' "$metadata" |
        while read -r target digest; do
          app="${target%-nonroot}"
          name="$registry/csi-$app" tag="$version${target#"$app"}"
          existing="$(digest_of "$name:$tag")"
          jq --null-input --arg name "$name" --arg digest "${existing:-$digest}" --arg tag "$tag" '{$name, $digest, $tag}'
        done
    )"
    echo "$rows" | jq --slurp --compact-output .
    ;;
  tag)
    list=$2
    rows() { jq --raw-output '.[] | "\(.name) \(.digest) \(.tag)"' "$list"; }
    rows | while read -r name digest tag; do
      existing="$(digest_of "$name:$tag")"
      if [ -n "$existing" ] && [ "$existing" != "$digest" ]; then
        echo "$name:$tag is $existing, not $digest: a tag never moves" >&2
        exit 1
      fi
    done
    rows | while read -r name digest tag; do
      [ -n "$(digest_of "$name:$tag")" ] || docker buildx imagetools create --tag "$name:$tag" "$name@$digest"
    done
    ;;
  *)
    echo "usage: images.sh list|tag" >&2
    exit 2
    ;;
esac

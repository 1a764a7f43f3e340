#!/bin/sh
# A release pushes images by digest, signs them, and tags them last.
#   images.sh list METADATA REGISTRY VERSION   prints [{name, digest, tag}] of the images that docker buildx bake built.
#                                              An existing tag keeps its digest, so that a second run can continue.
#   images.sh tag LIST                         tags the images. If a tag has another digest, it fails without a change.
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
          app="${target%%-*}"
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

#!/bin/sh
# preflight.sh LIST: runs the checks of Red Hat's certification on each image `-ubi` of LIST, which images.sh has printed.
# Fails if a check fails. HasUniqueTag is left out: the images get their tags last, and images.sh decides about tags.
set -eu
list=$1
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

rows="$(jq --raw-output '.[] | select(.tag | endswith("-ubi")) | "\(.name)@\(.digest) \(.tag)"' "$list")"
[ -n "$rows" ] || { echo "$list has no image on UBI" >&2; exit 1; }
echo "$rows" | while read -r image tag; do
  preflight check container "$image" --artifacts "$folder/$tag" < /dev/null > "$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; exit 1; }
  results="$(find "$folder/$tag" -name results.json)"
  [ -n "$results" ] || { echo "$image: preflight wrote no results.json" >&2; exit 1; }
  # The unquoted substitution gives one argument for each platform. The paths contain no spaces.
  # shellcheck disable=SC2086
  failed="$(jq --raw-output '.results | (.failed + .errors)[]?.name | select(. != "HasUniqueTag")' $results | sort --unique)"
  [ -z "$failed" ] || { echo "$image:" $failed >&2; exit 1; }
  echo "ok   $image"
  rm -r "${folder:?}/$tag"
done

#!/bin/sh
# chart.sh REGISTRY VERSION IMAGES FOLDER: leaves the archive of the chart in FOLDER, with the digests of IMAGES as its
# values. A version that is published already is taken as it is, so that a second run pushes the same archive.
set -eu
registry=$1 version=$2 images=$3 folder=$4

mkdir -p "$folder"
if printed="$(helm pull "oci://$registry/charts/csi-sidecars" --version "$version" --destination "$folder" 2>&1)"; then
  exit 0
elif ! echo "$printed" | grep --quiet --ignore-case 'not found'; then
  echo "$printed" >&2
  exit 1
fi
plain='.[] | select(.tag | endswith("-nonroot") | not) | "\(.name | split("/") | last)=\(.digest)"'
# Names and digests have no spaces.
# shellcheck disable=SC2046
chart="$(node images/tools/release-chart.ts "$folder/sources" "$registry" $(jq --raw-output "$plain" "$images"))"
helm package "$chart" --destination "$folder"
rm -r "$folder/sources"

#!/bin/sh
# chart.sh REGISTRY VERSION IMAGES FOLDER: writes the archive of the chart to FOLDER. Its values contain the digests of
# IMAGES. If the version is already published, its archive is downloaded, so that a second run pushes the same archive.
set -eu
registry=$1 version=$2 images=$3 folder=$4

mkdir -p "$folder"
if printed="$(helm pull "oci://$registry/charts/csi-sidecars" --version "$version" --destination "$folder" 2>&1)"; then
  exit 0
elif ! echo "$printed" | grep --quiet --ignore-case 'not found'; then
  echo "$printed" >&2
  exit 1
fi
plain='.[] | select(.tag | test("-(nonroot|ubi)$") | not) | "\(.name | split("/") | last)=\(.digest)"'
# The unquoted substitution gives one argument for each image, because names and digests contain no spaces.
# shellcheck disable=SC2046
chart="$(node images/tools/release-chart.ts "$folder/sources" "$registry" $(jq --raw-output "$plain" "$images"))"
helm package "$chart" --destination "$folder"
rm -r "$folder/sources"

#!/bin/sh
# ready.sh TAG REPOSITORY: fails if the tag, the changesets or the repository name are not ready for a release.
set -eu
tag=$1 repository=$2

version="v$(jq -r .version apps/attacher/package.json)"
if [ "$tag" != "$version" ]; then
  echo "the tag is $tag, and the version of the sidecars is $version" >&2
  exit 1
fi
for file in .changeset/*.md; do
  if [ "$file" != .changeset/README.md ] && [ -e "$file" ]; then
    echo "$file is pending: merge the pull request with the versions first" >&2
    exit 1
  fi
done
named="$(jq -r .repository package.json)"
if [ "$named" != "github:$repository" ]; then
  echo "documents and chart name $named: run node images/tools/fill.ts $repository" >&2
  exit 1
fi

#!/bin/sh
# ready.sh TAG REPOSITORY: fails if the tag, the changesets, the base images or the repository name are not ready for a
# release.
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
# Renovate pins them. Otherwise a second build of the same commit could have another base.
unpinned="$(grep -hE '^ARG BASE=|^FROM [a-z.]+/|BASE = "' images/Dockerfile images/docker-bake.hcl | grep -v '@sha256:' || true)"
if [ -n "$unpinned" ]; then
  echo "these base images have no digest: merge the pull request of Renovate first" >&2
  echo "$unpinned" >&2
  exit 1
fi
named="$(jq -r .repository package.json)"
if [ "$named" != "github:$repository" ]; then
  echo "documents and chart name $named: run node images/tools/fill.ts $repository" >&2
  exit 1
fi

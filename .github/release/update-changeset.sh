#!/bin/sh
# update-changeset.sh: writes a changeset if what the newest release ships has been updated since, and nothing else is
# pending. Updates come from pull requests that carry no changeset.
set -eu
tag="$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2> /dev/null || true)"
[ -n "$tag" ] || exit 0
[ "$(find .changeset -name '*.md' ! -name README.md | wc -l)" -eq 0 ] || exit 0
git diff --quiet "$tag" -- images/Dockerfile .nvmrc 'libs/*/package.json' 'apps/*/package.json' && exit 0
cat > .changeset/updates.md << EOF
---
"@csi-sidecars/attacher": patch
"@csi-sidecars/resizer": patch
---

Node.js, the base image or a bundled package is updated.
EOF

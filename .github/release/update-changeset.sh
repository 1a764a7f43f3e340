#!/bin/sh
# update-changeset.sh: writes a changeset if Node.js, the base image or a package was updated since the newest release,
# and no other changeset is pending. The pull requests of such updates contain no changeset.
set -eu
tag="$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2> /dev/null || true)"
[ -n "$tag" ] || exit 0
[ "$(find .changeset -name '*.md' ! -name README.md | wc -l)" -eq 0 ] || exit 0
git diff --quiet "$tag" -- images/Dockerfile .nvmrc 'libs/*/package.json' 'apps/*/package.json' 'desk/*/package.json' && exit 0
cat > .changeset/updates.md << EOF
---
"@csi-sidecars/attacher": patch
"@csi-sidecars/resizer": patch
"@csi-sidecars/provisioner": patch
"@csi-sidecars/snapshotter": patch
"@csi-sidecars/sidecars": patch
"@csi-sidecars/kubectl-csi": patch
---

Node.js, the base image or a bundled package is updated.
EOF

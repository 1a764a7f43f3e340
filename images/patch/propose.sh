#!/bin/sh
# Commits a patch release that all gates have passed, on a branch of its own: images/patch/propose.sh PATCH
# It opens a pull request. With AUTOMATIC=tag it also tags the commit and starts the release.
set -eu
git apply --index "$1"
version="v$(jq --raw-output .version apps/attacher/package.json)"
branch="patch/$version"
if git ls-remote --exit-code --heads "https://github.com/$GITHUB_REPOSITORY" "$branch" >/dev/null; then
  echo "$branch is proposed already"
  exit 0
fi
git config user.name 'github-actions[bot]'
git config user.email '41898282+github-actions[bot]@users.noreply.github.com'
git commit --quiet --message "Fixes of advisories for $version"
gh auth setup-git
git push "https://github.com/$GITHUB_REPOSITORY" "HEAD:refs/heads/$branch"
notes="$(sed '/^## /,$!d' apps/attacher/CHANGELOG.md | awk '/^## / { sections += 1 } sections == 1')"
gh pr create --repo "$GITHUB_REPOSITORY" --head "$branch" --base main --title "Patch release $version" --body "$notes"
if [ "${AUTOMATIC:-}" = tag ]; then
  git push "https://github.com/$GITHUB_REPOSITORY" "HEAD:refs/tags/$version"
  # A tag that a workflow pushes starts no workflow.
  gh workflow run release.yml --repo "$GITHUB_REPOSITORY" --ref "$version"
fi

#!/bin/sh
# Says in one issue what has changed upstream: images/upstream/report.sh FILE
set -eu
title='What the Go originals and Kubernetes have changed'
number="$(gh issue list --repo "$GITHUB_REPOSITORY" --state open --search "in:title \"$title\"" --json number --jq '.[0].number // empty')"
if [ -n "$number" ]; then
  gh issue edit "$number" --repo "$GITHUB_REPOSITORY" --body-file "$1"
else
  gh issue create --repo "$GITHUB_REPOSITORY" --title "$title" --body-file "$1"
fi

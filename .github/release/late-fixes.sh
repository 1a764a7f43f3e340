#!/bin/sh
# late-fixes.sh NODE_VERSION NODE_INDEX GRYPE_REPORT...: fails if a fix for Node.js or a package in the image has been
# available for more than 72 hours. NODE_INDEX is https://nodejs.org/dist/index.json, a report is `grype --output json`.
set -eu
node=$1 index=$2
shift 2
limit=$((${NOW:-$(date +%s)} - 72 * 3600))

late="$(
  # Prints the security releases of the same major version that are newer than the shipped Node.js.
  jq --raw-output --arg node "$node" --argjson limit "$limit" '
    def numbers: ltrimstr("v") | split(".") | map(tonumber);
    ($node | numbers) as $shipped
    | .[] | select(.security) | (.version | numbers) as $its
    | select($its[0] == $shipped[0] and $its > $shipped and (.date + "T00:00:00Z" | fromdate) < $limit)
    | "Node.js \($node): \(.version) of \(.date) fixes weaknesses"' "$index"
  for report; do
    jq --raw-output --argjson limit "$limit" '
      .matches[] | select(.vulnerability.fix.state == "fixed") | . as $match
      | [.vulnerability.fix.available[]? | select((.date[:10] + "T00:00:00Z" | fromdate) < $limit)] | first // empty
      | "\($match.artifact.name) \($match.artifact.version): \(.version) of \(.date) fixes \($match.vulnerability.id)"' "$report"
  done
)"
[ -z "$late" ] || { echo "$late" | sort --unique >&2; exit 1; }

#!/usr/bin/env bash
# Runs the lines of README.md, "From nothing to a volume", one after another. The first line that fails ends the run.
set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/../.."
lines=$(sed -n '/^## From nothing to a volume$/,/^## Install/p' README.md | sed -n '/^```sh$/,/^```$/{/^```/!p}')
test "$(grep -c . <<<"$lines")" -ge 10
bash -o errexit -o xtrace -c "$lines"

#!/bin/sh
# Installs the npm packages of a release into empty folders, as a user does, and runs them with each Node.js:
#   npm run check-packages [-- 20 22]
set -eu
work="$(mktemp -d)"
node images/tools/main.ts programs --out "$work/files" >/dev/null
node desk/emulator/src/main.ts --kubeconfig-out "$work/kubeconfig" >/dev/null &
emulator=$!
trap 'kill $emulator; rm -rf "$work"' EXIT
platform="$(node --print '`${process.platform}-${process.arch}`')"
npm_config_globalconfig="$(npm config get globalconfig)"
npm_config_cache="$work/cache"
npm_config_loglevel=error
export npm_config_globalconfig npm_config_cache npm_config_loglevel
for version in ${*:-20 22 24 26}; do
  npm install --no-audit --no-fund --ignore-scripts --prefix "$work/node-$version" "node-$platform@$version" >/dev/null
  mkdir "$work/empty-$version"
  (
    cd "$work/empty-$version"
    PATH="$work/node-$version/node_modules/node-$platform/bin:$PATH"
    npm install --no-audit --no-fund "$work"/files/*.tgz >/dev/null
    node_modules/.bin/csi-devcluster --exit >/dev/null
    node_modules/.bin/kubectl-csi stuck --kubeconfig "$work/kubeconfig" | grep -q 'Nothing is stuck'
    echo "ok   Node.js $(node --version)"
  )
done

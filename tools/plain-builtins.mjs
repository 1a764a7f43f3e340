// esbuild plugin: an import of one of Node's own modules becomes a require. For an import Node reads every export of
// the module, also those that only a getter would load: node:http brings undici's fetch and WebSocket that way, which
// is a quarter of the time to start and memory that nothing uses.

import { isBuiltin } from 'node:module'

const NAMESPACE = 'plain-builtin'

export const plainBuiltins = {
  name: 'plain-builtins',
  setup(build) {
    build.onResolve({ filter: /^[a-z0-9_:/]+$/ }, ({ path, kind, namespace }) => {
      if (!isBuiltin(path)) return undefined
      if (namespace === NAMESPACE || kind === 'require-call') return { path, external: true }
      return { path, namespace: NAMESPACE }
    })
    build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

// esbuild plugin: turns an import of one of Node's modules into a require of which only the imported names are read.
// Otherwise Node (for an import) or esbuild's helper (for a require) looks at every export of the module, and thereby
// loads unused code: node:http loads undici's fetch and WebSocket, node:util loads worker threads and a differ. That
// costs start time and memory.

import { isBuiltin } from 'node:module'

const IDENTIFIER = /^(?!default$)[A-Za-z_]\w*$/
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
      contents: contentsOf(path),
    }))
  },
}

/** Builds an ES module with only the imported exports. */
function contentsOf(path) {
  const names = Object.keys(process.getBuiltinModule(path)).filter((name) => IDENTIFIER.test(name))
  return [
    `const builtin = require(${JSON.stringify(path)})`,
    'export default builtin',
    ...names.map((name, index) => `const export${index} = /* @__PURE__ */ (() => builtin.${name})()`),
    `export { ${names.map((name, index) => `export${index} as ${name}`).join(', ')} }`,
  ].join('\n')
}

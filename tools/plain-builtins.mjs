// esbuild plugin that replaces imports of Node's modules by `require`, and reads only the imported names. Otherwise
// Node or esbuild's helper reads every export of a module, which loads unused code: `fetch` and `WebSocket` for
// node:http, for example. That costs start time and memory.

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

/** Returns an ES module that exports each name of the built-in module. esbuild drops names that are not imported. */
function contentsOf(path) {
  const names = Object.keys(process.getBuiltinModule(path)).filter((name) => IDENTIFIER.test(name))
  return [
    `const builtin = require(${JSON.stringify(path)})`,
    'export default builtin',
    ...names.map((name, index) => `const export${index} = /* @__PURE__ */ (() => builtin.${name})()`),
    `export { ${names.map((name, index) => `export${index} as ${name}`).join(', ')} }`,
  ].join('\n')
}

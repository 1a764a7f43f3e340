// esbuild plugin: grpc-js and prom-client without what a sidecar never uses.

const absentFunction = (name) => `export function ${name}() { throw new Error('${name} is not part of this build') }`
/** grpc-js needs it only for its channelz and ORCA services. */
const GRPC_IMPORTS = { '@grpc/proto-loader': ['loadSync'].map(absentFunction) }
/** The parts of prom-client's index that load cluster, http and a row of collectors. */
const PROM_IMPORTS = {
  './lib/summary': ['module.exports = undefined'],
  './lib/pushgateway': ['module.exports = undefined'],
  './lib/defaultMetrics': ['module.exports = undefined'],
  './lib/cluster': ['module.exports = undefined'],
}

const REPLACED_IN = [
  [/[\\/]@grpc[\\/]grpc-js[\\/]/, GRPC_IMPORTS],
  [/[\\/]prom-client[\\/]index\.js$/, PROM_IMPORTS],
]

export const leanModules = {
  name: 'lean-modules',
  setup(build) {
    const used = new Set()
    const bundled = new Set()
    build.onResolve({ filter: /.*/ }, ({ path, importer, namespace, resolveDir }) => {
      if (namespace !== 'file') return undefined
      const [, imports] = REPLACED_IN.find(([file]) => file.test(importer)) ?? []
      if (imports === undefined) return undefined
      bundled.add(imports)
      if (!Object.hasOwn(imports, path)) return undefined
      used.add(path)
      return { path, namespace: 'lean', pluginData: { contents: imports[path].join('\n'), resolveDir } }
    })
    build.onLoad({ filter: /.*/, namespace: 'lean' }, ({ pluginData }) => pluginData)
    // A new version that imports something under another name must not grow the bundle unseen.
    build.onEnd(() => {
      const all = [...bundled].flatMap((imports) => Object.keys(imports))
      const unused = all.filter((path) => !used.has(path))
      return { errors: unused.map((path) => ({ text: `lean-modules: nothing imports ${path} any more` })) }
    })
  },
}

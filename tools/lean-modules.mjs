// esbuild plugin: KubeConfig, grpc-js and prom-client without what a sidecar never uses.
// The proxy modules stay in the bundle, but run only when a proxy is configured.

const absentClass = (name) =>
  `export class ${name} { constructor() { throw new Error('${name} is not part of this build') } }`
const absentFunction = (name) => `export function ${name}() { throw new Error('${name} is not part of this build') }`
/** KubeConfig makes one of each provider when its module is loaded; this one recognises no user. */
const absentProvider = (name) => `export class ${name} { isAuthProvider() { return false } }`
/** `new X(...)` runs the real module at its first use. */
const lazyClass = (specifier) => (name) =>
  `export class ${name} { constructor(...args) { return new (require('${specifier}').${name})(...args) } }`

/** Import specifiers in client-node's config.js. */
const CONFIG_IMPORTS = {
  undici: ['Agent', 'ProxyAgent'].map(absentClass),
  socks: ['SocksClient'].map(absentClass),
  './azure_auth.js': ['AzureAuth'].map(absentProvider),
  './gcp_auth.js': ['GoogleCloudPlatformAuth'].map(absentProvider),
  './oidc_auth.js': ['OpenIDConnectAuth'].map(absentProvider),
  './gen/index.js': ['createConfiguration', 'ServerConfiguration'].map(absentClass),
  './middleware.js': ['setHeaderMiddleware'].map(absentFunction),
  'socks-proxy-agent': ['SocksProxyAgent'].map(lazyClass('socks-proxy-agent')),
  hpagent: ['HttpProxyAgent', 'HttpsProxyAgent'].map(lazyClass('hpagent')),
}
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
  [/[\\/]@kubernetes[\\/]client-node[\\/]dist[\\/]config\.js$/, CONFIG_IMPORTS],
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

// esbuild plugin: removes the parts of grpc-js that a sidecar never uses.

const IMPORTER = /[\\/]@grpc[\\/]grpc-js[\\/]/
/** The package that grpc-js needs only for its channelz and ORCA services. */
const PATH = '@grpc/proto-loader'
const NAME = 'loadSync'
const CONTENTS = `export function ${NAME}() { throw new Error('${NAME} is not part of this build') }`

export const leanModules = {
  name: 'lean-modules',
  setup(build) {
    let bundled = false
    let used = false
    build.onResolve({ filter: /.*/ }, ({ path, importer, namespace, resolveDir }) => {
      if (namespace !== 'file' || !IMPORTER.test(importer)) return undefined
      bundled = true
      if (path !== PATH) return undefined
      used = true
      return { path, namespace: 'lean', pluginData: { resolveDir } }
    })
    build.onLoad({ filter: /.*/, namespace: 'lean' }, ({ pluginData }) => ({ contents: CONTENTS, ...pluginData }))
    // The build fails if grpc-js no longer imports `PATH`: another import may bring the unused code back.
    build.onEnd(() => ({
      errors: bundled && !used ? [{ text: `lean-modules: nothing imports ${PATH}` }] : [],
    }))
  },
}

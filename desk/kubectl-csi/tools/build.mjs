// Bundles src/main.ts into dist/kubectl-csi.cjs, which Node 20 or later runs. The file contains docs/operations.md.
// The package.json for npx and the manifest for krew are next to it. images/tools builds the Linux executables from it.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'
import { START_FLAGS } from '../../../tools/start-flags.mjs'

const NAME = 'kubectl-csi'
const OLDEST_NODE = 20
/** Packages that must not get into the bundle through an import. */
const FORBIDDEN = ['@kubernetes/client-node', '@grpc/grpc-js']

const START = `if (Number.parseInt(process.versions.node, 10) < ${OLDEST_NODE}) {
  process.stderr.write('${NAME} needs Node.js ${OLDEST_NODE} or newer, and this is ' + process.version + '\\n')
  process.exit(2)
}
const __file = require('node:url').pathToFileURL(__filename).href`

/** Marks our modules as free of side effects for esbuild, so that unused exports stay out of the bundle. */
const withoutSideEffects = {
  name: 'without-side-effects',
  setup(build) {
    build.onResolve({ filter: /^(?:\.|@csi-sidecars\/)/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === 'resolving' || !/[\\/](?:libs|kubectl-csi)[\\/].*src[\\/]/.test(options.importer))
        return undefined
      return { ...(await build.resolve(path, { ...options, pluginData: 'resolving' })), sideEffects: false }
    })
  },
}

const { version, description, license } = JSON.parse(readFileSync('package.json', 'utf8'))
const release = process.env.RELEASE_VERSION || `v${version}`
const page = readFileSync('../../docs/operations.md', 'utf8')
rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
const file = `dist/${NAME}.cjs`
const { metafile } = await build({
  entryPoints: ['src/main.ts'],
  outfile: file,
  bundle: true,
  platform: 'node',
  target: `node${OLDEST_NODE}`,
  format: 'cjs',
  metafile: true,
  minify: true,
  legalComments: 'none',
  charset: 'ascii',
  define: {
    __OPERATIONS__: JSON.stringify(page),
    __VERSION__: JSON.stringify(release),
    'import.meta.url': '__file',
  },
  banner: { js: `#!/usr/bin/env node\n${START}` },
  plugins: [withoutSideEffects],
  logLevel: 'warning',
})
for (const [path, { bytesInOutput }] of Object.entries(metafile.outputs[file].inputs)) {
  if (bytesInOutput === 0) continue
  const grown = FORBIDDEN.find((name) => path.includes(`node_modules/${name}/`))
  if (grown !== undefined) throw new Error(`${grown} is in the bundle, by ${path}`)
}
chmodSync(file, 0o755)

const manifest = {
  name: NAME,
  version: release.replace(/^v/, ''),
  description,
  license,
  engines: { node: `>=${OLDEST_NODE}` },
}
const published = { ...manifest, bin: { [NAME]: `${NAME}.cjs` }, files: [`${NAME}.cjs`, 'THIRD-PARTY-NOTICES.txt'] }
writeFileSync('dist/package.json', `${JSON.stringify(published, undefined, 2)}\n`)
const krew = readFileSync('krew.yaml', 'utf8')
writeFileSync('dist/krew.yaml', krew.replaceAll('VERSION', release).replaceAll('OLDEST_NODE', OLDEST_NODE))
// Writes the list of the bundled packages, and the start options of an executable.
writeFileSync(`dist/${NAME}.meta.json`, JSON.stringify(metafile))
writeFileSync('dist/sea.json', JSON.stringify({ execArgv: START_FLAGS }))

// Bundles src/main.ts of the package in the working directory and packs it into a single executable:
//   node ../../tools/build.mjs <name> [--bundle-only]
// It writes the executable dist/<name>. Images and executables of other platforms use the bundle <name>.cjs and the
// code cache <name>.cache. <name>.mjs is the same code in readable form, for profiles.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { callSites } from './call-sites.mjs'
import { buildNode, makeExecutable } from './executable.mjs'
import { leanModules } from './lean-modules.mjs'
import { plainBuiltins } from './plain-builtins.mjs'
import { START_FLAGS } from './start-flags.mjs'

/** Packages that must not be in the bundle. */
const FORBIDDEN = [
  '@kubernetes/client-node', // the sources use only types of this package
  'yargs',
  '@grpc/proto-loader',
]

const { values, positionals } = parseArgs({ options: { 'bundle-only': { type: 'boolean' } }, allowPositionals: true })
const [name] = positionals
if (name === undefined) throw new Error('usage: build.mjs <name> [--bundle-only]')
if (Number.parseInt(process.versions.node, 10) < 26)
  throw new Error(`Node 26 is needed, this is ${process.version}: start through npm run`)

const COMMON = {
  entryPoints: ['src/main.ts'],
  bundle: true,
  platform: 'node',
  target: 'node26',
  write: false,
  minifySyntax: true,
  legalComments: 'none',
  charset: 'ascii',
  plugins: [callSites, leanModules, plainBuiltins],
  logLevel: 'warning',
}

rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
await bundle()
await readableBundle()
codeCache()
if (!values['bundle-only'])
  makeExecutable({
    main: relative('', join(import.meta.dirname, 'start-bundle.cjs')),
    output: `dist/${name}`,
    assets: { 'bundle.cjs': `dist/${name}.cjs`, 'bundle.cache': `dist/${name}.cache` },
    folder: 'dist',
  })

/** Writes the minified bundle in ASCII, because V8 needs twice the memory for a source with other characters. */
async function bundle() {
  const file = `dist/${name}.cjs`
  const { metafile, outputFiles } = await build({
    ...COMMON,
    outfile: file,
    format: 'cjs',
    metafile: true,
    // The bundle must not start itself: the program that loads it calls `start`.
    define: { __VERSION__: JSON.stringify(version()), 'import.meta.main': 'false' },
    minifyWhitespace: true,
    minifyIdentifiers: true,
    lineLimit: 200, // lines are short, because Node prints the whole line of an uncaught exception
  })
  const inputs = Object.keys(metafile.outputs[file].inputs)
  const unwanted = FORBIDDEN.filter((part) => inputs.some((path) => path.includes(`node_modules/${part}/`)))
  if (unwanted.length > 0) throw new Error(`the bundle must not contain ${unwanted.join(', ')}`)
  const [{ text }] = outputFiles
  const strange = /[\u0080-\uffff]/.exec(text)
  if (strange !== null) throw new Error(`the bundle is not ASCII: ${JSON.stringify(text.substr(strange.index, 40))}`)
  writeFileSync(file, text)
  writeFileSync(`dist/${name}.meta.json`, JSON.stringify(metafile))
}

async function readableBundle() {
  const { outputFiles } = await build({
    ...COMMON,
    outfile: `dist/${name}.mjs`,
    format: 'esm',
    define: { __VERSION__: JSON.stringify(version()) },
    banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
  })
  writeFileSync(`dist/${name}.mjs`, outputFiles[0].contents)
}

/**
 * Returns the version that --version prints: the version of the release being built, otherwise the version of the
 * package.
 */
function version() {
  const own = JSON.parse(readFileSync('package.json', 'utf8')).version
  return process.env.RELEASE_VERSION || (own === undefined ? 'unknown' : `v${own}`)
}

/**
 * Creates the code cache in a separate process with the start flags of the executable. The environment and the streams
 * are fixed, because a file that the process opens at its start would change the bytes of the cache.
 */
function codeCache() {
  const maker = join(import.meta.dirname, 'make-code-cache.cjs')
  const args = [...START_FLAGS, '--hash-seed=1', '--no-sparkplug', maker, `dist/${name}.cjs`, `dist/${name}.cache`]
  execFileSync(buildNode(), args, { stdio: ['ignore', 'pipe', 'pipe'], env: {} })
}

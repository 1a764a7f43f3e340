// Bundles src/main.ts of the package in the working directory and makes it a single executable:
//   node ../../tools/build.mjs <name> [--bundle-only]
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { CALLER_TABLE_MARK, withCallerTable } from './caller-table.mjs'
import { leanModules } from './lean-modules.mjs'
import { plainBuiltins } from './plain-builtins.mjs'

/** Built into the executable: memory before speed. */
const RUNTIME_FLAGS = ['--optimize-for-size', '--no-maglev', '--no-opt', '--disable-warning=ExperimentalWarning']

/** Packages whose presence in the bundle means that an import grew. */
const FORBIDDEN = [
  'undici',
  'openid-client',
  'jsonpath-plus',
  'ws',
  '@kubernetes/client-node/dist/gen',
  'yargs',
  '@grpc/proto-loader',
]

const { values, positionals } = parseArgs({ options: { 'bundle-only': { type: 'boolean' } }, allowPositionals: true })
const [name] = positionals
if (name === undefined) throw new Error('usage: build.mjs <name> [--bundle-only]')
if (Number.parseInt(process.versions.node, 10) < 26)
  throw new Error(`Node 26 is needed, this is ${process.version}: start through npm run`)

rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
await bundle()
if (!values['bundle-only']) makeExecutable()

async function bundle() {
  const { metafile, outputFiles } = await build({
    entryPoints: ['src/main.ts'],
    outfile: `dist/${name}.mjs`,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    metafile: true,
    sourcemap: 'external', // for the caller table; not shipped
    write: false,
    define: { __CALLER_TABLE__: JSON.stringify(CALLER_TABLE_MARK), __VERSION__: JSON.stringify(version()) },
    minifySyntax: true,
    legalComments: 'none',
    banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
    plugins: [leanModules, plainBuiltins],
    logLevel: 'warning',
  })
  const inputs = Object.keys(metafile.outputs[`dist/${name}.mjs`].inputs)
  const unwanted = FORBIDDEN.filter((part) => inputs.some((path) => path.includes(`node_modules/${part}/`)))
  if (unwanted.length > 0) throw new Error(`the bundle must not contain ${unwanted.join(', ')}`)
  const [map, code] = ['.map', '.mjs'].map((end) => outputFiles.find(({ path }) => path.endsWith(end)).text)
  writeFileSync(`dist/${name}.mjs`, withCallerTable(code, JSON.parse(map), 'dist'))
  writeFileSync(`dist/${name}.meta.json`, JSON.stringify(metafile))
}

/** What --version says: that of the release being built, else the package's own. */
function version() {
  const own = JSON.parse(readFileSync('package.json', 'utf8')).version
  return process.env.RELEASE_VERSION || (own === undefined ? 'unknown' : `v${own}`)
}

function makeExecutable() {
  copyFileSync(process.execPath, 'dist/node')
  if (process.platform === 'linux') strip('dist/node')
  writeFileSync(
    'dist/sea.json',
    JSON.stringify({
      main: `dist/${name}.mjs`,
      mainFormat: 'module',
      executable: 'dist/node',
      output: `dist/${name}`,
      disableExperimentalSEAWarning: true,
      useCodeCache: false, // gains nothing, and two builds of the same source would differ
      execArgv: RUNTIME_FLAGS,
      execArgvExtension: 'none', // NODE_OPTIONS of the surroundings has no effect
    }),
  )
  execFileSync(process.execPath, ['--build-sea', 'dist/sea.json'], { stdio: 'inherit' })
  rmSync('dist/node')
}

/** Symbols are a quarter of the file; an executable with them works as well. */
function strip(file) {
  try {
    execFileSync('strip', ['-s', file])
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    console.warn(`strip (binutils) is not installed: ${name} keeps its symbols and is 40 MB larger`)
  }
}

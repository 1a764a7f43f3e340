// usage: node ../../tools/bundle-program.mjs, in the folder of the package.
// Bundles the embedded cluster with the files of its page, or the driver test, into the dist folder of its package.
// `npm start` and the npm package use the bundle: it starts in half the time of the source, with 50 MiB less.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { callSites } from './call-sites.mjs'
import { leanModules } from './lean-modules.mjs'

// The metafile then has paths from the root, as the lockfile has: one version of yargs is installed there, another in the
// package.
const absWorkingDir = join(import.meta.dirname, '..')
const app = relative(absWorkingDir, process.cwd())
const outdir = join(app, 'dist')
const PAGE = 'apps/devcluster/src/page'

rmSync('dist', { recursive: true, force: true })
mkdirSync('dist')
const { metafile } = await build({
  absWorkingDir,
  entryPoints: [`${app}/src/main.ts`],
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true, // a lazy import reads its file when it is needed
  format: 'esm',
  platform: 'node',
  target: 'node26',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // grpc-js is CommonJS.
  banner: { js: "import { createRequire as __cr } from 'node:module'; const require = __cr(import.meta.url);" },
  plugins: [callSites, leanModules],
  metafile: true,
  logLevel: 'warning',
})
if (app === 'apps/devcluster') await bundlePage()
writeFileSync(join('dist', 'meta.json'), JSON.stringify(metafile))

/** Bundles the script of the page, which runs in a browser, and copies its other files. */
async function bundlePage() {
  await build({
    absWorkingDir,
    entryPoints: { page: `${PAGE}/view/main.ts` },
    outdir,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  })
  for (const file of ['page.html', 'base.css', 'page.css', 'cluster.css'])
    copyFileSync(join(absWorkingDir, PAGE, file), join('dist', file))
}

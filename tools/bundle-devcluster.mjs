// Bundles the embedded cluster into the dist folder of its package, with the files of its page: for `npm start` and for
// the npm package. It starts in half the time that the source takes, with 50 MiB less.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { callSites } from './call-sites.mjs'
import { leanModules } from './lean-modules.mjs'

// The metafile then has paths from the root, as the lockfile has: one version of yargs is installed there, another in the
// package.
const absWorkingDir = join(import.meta.dirname, '..')
const source = 'apps/devcluster/src'
const outdir = join(absWorkingDir, 'apps/devcluster/dist')

rmSync(outdir, { recursive: true, force: true })
mkdirSync(outdir)
const { metafile } = await build({
  absWorkingDir,
  entryPoints: [`${source}/main.ts`],
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true, // what is imported when it is needed is read then
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
// The page's own script, which runs in a browser.
await build({
  absWorkingDir,
  entryPoints: { page: `${source}/page/view/main.ts` },
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
  copyFileSync(join(absWorkingDir, source, 'page', file), join(outdir, file))
writeFileSync(join(outdir, 'meta.json'), JSON.stringify(metafile))

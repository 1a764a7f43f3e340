// Bundles the embedded cluster for its npm package: node tools/bundle-devcluster.mjs FOLDER VERSION
// Written to stdout: what is in the bundle, as esbuild reports it.
import { join } from 'node:path'
import { build } from 'esbuild'
import { callSites } from './call-sites.mjs'
import { leanModules } from './lean-modules.mjs'

const [outdir, version] = process.argv.slice(2)
const { metafile } = await build({
  absWorkingDir: join(import.meta.dirname, '..'),
  entryPoints: ['apps/devcluster/src/main.ts'],
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
  define: { __VERSION__: JSON.stringify(version) },
  plugins: [callSites, leanModules],
  metafile: true,
  logLevel: 'warning',
})
// The page's own script, which runs in a browser.
await build({
  absWorkingDir: join(import.meta.dirname, '..'),
  entryPoints: { page: 'apps/devcluster/src/page/view/main.ts' },
  outdir,
  bundle: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2024',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
})
process.stdout.write(JSON.stringify(metafile))

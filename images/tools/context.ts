// The script of `npm run build` in images: it writes the files for the Dockerfile into images/dist, in one folder for
// each sidecar.
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Bundle, ROOT, readBundle, SIDECARS, START } from './bundle.ts'
import { packageNotices } from './notices.ts'

const NODE = '/usr/bin/node'

/** Fills a folder with the build context of the Dockerfile. */
export function makeContext(folder: string, root = ROOT): void {
  rmSync(folder, { recursive: true, force: true })
  // This umask lets any user read the files, and equal files give equal image layers.
  process.umask(0o022)
  for (const name of SIDECARS) fill(join(folder, name), readBundle(name, root))
  for (const file of ['images/Dockerfile', 'images/code-caches.cjs', 'tools/make-code-cache.cjs']) {
    cpSync(join(root, file), join(folder, file.slice(file.indexOf('/') + 1)))
  }
  writeFileSync(join(folder, 'start-flags.json'), JSON.stringify(readBundle('csi-attacher', root).flags))
}

function fill(folder: string, bundle: Bundle): void {
  const { name, file, packages } = bundle
  const licences = join(folder, 'usr/share/licenses', name)
  write(join(folder, name), startScript(bundle), 0o755)
  write(join(folder, 'usr/lib/csi-sidecars', `${name}.cjs`), readFileSync(file, 'utf8'))
  write(join(licences, 'THIRD-PARTY-NOTICES'), packageNotices(packages))
  const licence = readFileSync(join(ROOT, 'LICENSE'), 'utf8')
  write(join(licences, 'LICENSE'), licence)
  // Red Hat's certification looks for the licence here.
  write(join(folder, 'licenses/LICENSE'), licence)
  // Scanners and SBOM tools recognize a bundled package by its package.json.
  for (const { name: inside, folder: from } of packages) {
    const text = readFileSync(join(from, 'package.json'), 'utf8')
    write(join(licences, 'node_modules', inside, 'package.json'), text)
  }
}

/** Returns the start script of an image. Its first line sets one flag, and NODE_OPTIONS sets the other flags. */
export function startScript({ flags: [first, ...others] }: Pick<Bundle, 'flags'>): string {
  const text = readFileSync(START, 'utf8')
  if (!text.includes(`'${others.join(' ')}'`)) throw new Error(`${START} does not set ${others.join(' ')}`)
  return `#!${NODE} ${first}\n${text}`
}

function write(file: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}

if (import.meta.main) makeContext(join(ROOT, 'images/dist'))

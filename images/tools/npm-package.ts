import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Metafile, packagesOf, ROOT, readBundle, readJson, releaseVersion } from './bundle.ts'
import { packageNotices } from './notices.ts'

const NAME = 'csi-devcluster'
const OLDEST_NODE = 26
const SOURCE = join(ROOT, 'apps/devcluster')
const METAFILE = 'meta.json'
const SIDECARS = ['csi-attacher', 'csi-resizer'] as const

/** Makes the folder from which `npm pack` makes the archive: the embedded cluster and its sidecars, all bundled. */
export function makeNpmPackage(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(join(SOURCE, 'dist'), folder, { recursive: true, filter: (path) => !path.endsWith(METAFILE) })
  const metafile = readJson<Metafile>(join(SOURCE, 'dist', METAFILE))
  const bundles = SIDECARS.map((name) => readBundle(name))
  for (const { name, file } of bundles) {
    copyFileSync(file, join(folder, `${name}.bundle.cjs`))
    writeFileSync(join(folder, `${name}.cjs`), `require('./${name}.bundle.cjs').start()\n`)
  }
  copyFileSync(join(import.meta.dirname, 'npm-start.cjs'), join(folder, 'start.cjs'))
  chmodSync(join(folder, 'start.cjs'), 0o755)
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  const inside = [
    ...packagesOf(metafile, readJson(join(ROOT, 'package-lock.json')), ROOT),
    ...bundles.flatMap((bundle) => bundle.packages),
  ]
  const packages = [...new Map(inside.map((each) => [`${each.name} ${each.version}`, each])).values()]
  writeFileSync(join(folder, 'NOTICES'), packageNotices(packages))
  copyFileSync(join(SOURCE, 'README.md'), join(folder, 'README.md'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
}

function manifest(): object {
  return {
    name: NAME,
    version: releaseVersion().replace(/^v/, ''),
    description: 'A cluster on loopback that shows what csi-attacher and csi-resizer do, and tests CSI drivers.',
    license: 'Apache-2.0',
    bin: { [NAME]: 'start.cjs' },
    engines: { node: '>=18' },
    /** What start.cjs reads. */
    oldestNode: OLDEST_NODE,
    nodePackages: nodePackages(),
  }
}

/** By platform, the package that has the Node.js with which this repository is tested. */
function nodePackages(): Readonly<Record<string, string>> {
  const { optionalDependencies } = readJson<{ optionalDependencies: Readonly<Record<string, string>> }>(
    join(ROOT, 'package.json'),
  )
  const packages = Object.entries(optionalDependencies).flatMap(([name, version]): [string, string][] => {
    const platform = /^node-(?:bin-)?(.*)$/.exec(name)?.[1]
    return platform === undefined ? [] : [[platform, `${name}@${version}`]]
  })
  return Object.fromEntries(packages)
}

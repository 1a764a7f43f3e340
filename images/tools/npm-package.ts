import { chmodSync, copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Metafile, packagesOf, ROOT, readBundle, readJson, releaseVersion } from './bundle.ts'
import { packageNotices } from './notices.ts'

const OLDEST_NODE = 26
/** The programs that users install with npm. Each package contains the sidecars that its program starts. */
const PROGRAMS = {
  'csi-devcluster': 'A cluster on loopback that shows what the CSI sidecars do.',
  'csi-driver-test': 'Tests a CSI driver by random histories, faults and direct questions.',
} as const
type ProgramName = keyof typeof PROGRAMS

function isProgram(name: string): name is ProgramName {
  return Object.hasOwn(PROGRAMS, name)
}
const METAFILE = 'meta.json'
const SIDECARS = ['csi-attacher', 'csi-resizer', 'csi-provisioner', 'csi-snapshotter'] as const

/** Fills the folder for `npm pack` with the bundles of the program and of its sidecars. */
export function makeNpmPackage(folder: string, program = 'csi-devcluster'): void {
  if (!isProgram(program)) throw new Error(`${program} is no program for npm: ${Object.keys(PROGRAMS).join(' or ')}`)
  const source = join(ROOT, 'desk', program.replace(/^csi-/, ''))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  cpSync(join(source, 'dist'), folder, { recursive: true, filter: (path) => !path.endsWith(METAFILE) })
  const metafile = readJson<Metafile>(join(source, 'dist', METAFILE))
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
  copyFileSync(join(source, 'README.md'), join(folder, 'README.md'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(program), null, 2)}\n`)
}

function manifest(program: ProgramName): object {
  return {
    name: program,
    version: releaseVersion().replace(/^v/, ''),
    description: PROGRAMS[program],
    license: 'Apache-2.0',
    bin: { [program]: 'start.cjs' },
    engines: { node: '>=18' },
    /** The script `start.cjs` reads these values. */
    oldestNode: OLDEST_NODE,
    nodePackages: nodePackages(),
  }
}

/** Returns the npm package of the tested Node.js for each platform. */
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

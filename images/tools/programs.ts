import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { ROOT, readBundle, releaseVersion } from './bundle.ts'
import { ARCHITECTURES, executableName } from './executables.ts'
import { packageNotices } from './notices.ts'
import { makeNpmPackage } from './npm-package.ts'

const PLUGIN = 'kubectl-csi'
const BUILT = join(ROOT, 'desk/kubectl-csi/dist')

/** The path of the krew manifest without checksums. */
export const KREW = join(BUILT, 'krew.yaml')

/**
 * Packs the programs that users run on their own machines. The kubectl plugin is packed as a JavaScript file, and as
 * each executable in the folder. `NPM_PACKAGES` are packed as archives that npm installs.
 *
 * Guarantees: equal files give equal archives.
 */
export function makePrograms(out: string): readonly string[] {
  if (!existsSync(join(BUILT, `${PLUGIN}.cjs`))) throw new Error(`${BUILT} has no ${PLUGIN}.cjs: npm run build`)
  mkdirSync(out, { recursive: true })
  const script = pluginArchive(
    { archive: `${PLUGIN}.tar.gz`, program: join(BUILT, `${PLUGIN}.cjs`), as: `${PLUGIN}.cjs` },
    packageNotices(readBundle(PLUGIN).packages),
    out,
  )
  const executables = ARCHITECTURES.flatMap((architecture) => {
    const program = join(out, executableName(PLUGIN, releaseVersion(), architecture))
    if (!existsSync(program)) return []
    const notices = join(out, `${PLUGIN}-${releaseVersion()}-THIRD-PARTY-NOTICES.txt`)
    const archive = `${PLUGIN}-linux-${architecture}.tar.gz`
    return [pluginArchive({ archive, program, as: PLUGIN }, readFileSync(notices, 'utf8'), out)]
  })
  const packages = NPM_PACKAGES.map(({ make, file }) => npmArchive(make, { file, out }))
  return [script, ...executables, ...packages]
}

interface Packed {
  readonly archive: string
  readonly program: string
  /** The file name of the program in the archive. */
  readonly as: string
}

function pluginArchive({ archive, program, as }: Packed, notices: string, out: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'plugin-'))
  try {
    copyFileSync(program, join(folder, as))
    copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
    writeFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), notices)
    const equal = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
    const files = readdirSync(folder)
    execFileSync('tar', [
      ...equal,
      '--use-compress-program=gzip -9n',
      '-cf',
      join(out, archive),
      '-C',
      folder,
      ...files,
    ])
    return archive
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The npm packages. `make` fills a folder, and `npm pack` creates the archive `file` from it. */
export const NPM_PACKAGES = [
  ...(['csi-devcluster', 'csi-driver-test'] as const).map((program) => ({
    file: `${program}-${releaseVersion().slice(1)}.tgz`,
    make: (folder: string) => makeNpmPackage(folder, program),
  })),
  { file: `${PLUGIN}-${releaseVersion().slice(1)}.tgz`, make: makePluginPackage },
] as const

function npmArchive(make: (folder: string) => void, { file, out }: { file: string; out: string }): string {
  const folder = mkdtempSync(join(tmpdir(), 'npm-package-'))
  try {
    make(folder)
    const name = execFileSync('npm', ['pack', '--silent', folder], { cwd: out, encoding: 'utf8' }).trim()
    if (name !== file) throw new Error(`npm pack made ${name}, not ${file}`)
    return name
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function makePluginPackage(folder: string): void {
  for (const name of ['package.json', `${PLUGIN}.cjs`]) copyFileSync(join(BUILT, name), join(folder, name))
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  copyFileSync(join(ROOT, 'desk/kubectl-csi/README.md'), join(folder, 'README.md'))
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), packageNotices(readBundle(PLUGIN).packages))
}

const PLATFORM = /^(?= {4}- selector:$)/m

/**
 * Returns the krew manifest with the checksums of the archives in a folder. A platform without an archive is left out,
 * because one machine builds only the executable of its own architecture.
 */
export function krewManifest(template: string, folder: string): string {
  const [head = '', ...platforms] = template.split(PLATFORM)
  return [head, ...platforms.flatMap((platform) => withSum(platform, folder))].join('')
}

function withSum(platform: string, folder: string): readonly string[] {
  const [, uri] = /^ +uri: (\S+)$/m.exec(platform) ?? []
  if (uri === undefined) throw new Error(`a platform of the manifest for krew has no uri:\n${platform}`)
  const archive = join(folder, basename(uri))
  if (!existsSync(archive)) return []
  const sum = createHash('sha256').update(readFileSync(archive)).digest('hex')
  return [platform.replace(/( sha256: )SHA256$/m, `$1${sum}`)]
}

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import { makeNpmPackage } from './npm-package.ts'

const PLUGIN = 'kubectl-csi'
const BUILT = join(ROOT, 'apps/kubectl-csi/dist')

/**
 * What people run on their own machines: the plugin of kubectl, its manifest for krew, and the embedded cluster as an
 * archive that npx runs. Archives of one commit are the same to the byte.
 */
export function makePrograms(out: string, createdAt: number): readonly string[] {
  if (!existsSync(join(BUILT, `${PLUGIN}.cjs`))) throw new Error(`${BUILT} has no ${PLUGIN}.cjs: npm run build`)
  mkdirSync(out, { recursive: true })
  const archive = `${PLUGIN}.tar.gz`
  const same = [
    '--sort=name',
    `--mtime=@${createdAt / 1000}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--format=gnu',
  ]
  const inside = ['-C', BUILT, `${PLUGIN}.cjs`, '-C', ROOT, 'LICENSE']
  const tar = execFileSync('tar', [...same, '-cf', '-', ...inside], { maxBuffer: 64 * 1024 * 1024 })
  writeFileSync(join(out, archive), execFileSync('gzip', ['-9'], { input: tar, maxBuffer: 64 * 1024 * 1024 }))
  const sha256 = createHash('sha256')
    .update(readFileSync(join(out, archive)))
    .digest('hex')
  writeFileSync(
    join(out, 'krew.yaml'),
    readFileSync(join(BUILT, 'krew.yaml'), 'utf8').replace(/(sha256: )SHA256$/m, `$1${sha256}`),
  )
  return [archive, 'krew.yaml', npmArchive(out)]
}

function npmArchive(out: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'npm-package-'))
  try {
    makeNpmPackage(folder)
    const options = { cwd: out, encoding: 'utf8' } as const
    const name = execFileSync('npm', ['pack', '--silent', folder], options).trim()
    return name
  } finally {
    rmSync(folder, { recursive: true })
  }
}

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROOT, releaseVersion } from './bundle.ts'
import { homeOf } from './fill.ts'
import { makePrograms } from './programs.ts'

const VERSION = releaseVersion()

describe('what people run on their own machines', () => {
  let folder: string
  let files: readonly string[]

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'programs-'))
    files = makePrograms(join(folder, 'first'), 0)
  }, 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const first = (file: string): string => join(folder, 'first', file)

  it('are the plugin of kubectl with its manifest, and the embedded cluster', () => {
    expect(files).toEqual(['kubectl-csi.tar.gz', 'krew.yaml', `csi-devcluster-${VERSION.slice(1)}.tgz`])
    const packed = execFileSync('tar', ['-tzf', first('kubectl-csi.tar.gz')], { encoding: 'utf8' })
    expect(packed.trim().split('\n')).toEqual(['kubectl-csi.cjs', 'LICENSE'])
  })

  it('have a manifest with nothing left to fill in', () => {
    const manifest = readFileSync(first('krew.yaml'), 'utf8')
    const fieldOf = (key: string): string | undefined => new RegExp(`^ +${key}: (.*)$`, 'm').exec(manifest)?.[1]
    const file = `https://github.com/${homeOf(ROOT)}/releases/download/${VERSION}/kubectl-csi.tar.gz`
    const sum = createHash('sha256')
      .update(readFileSync(first('kubectl-csi.tar.gz')))
      .digest('hex')
    expect([fieldOf('version'), fieldOf('uri'), fieldOf('sha256')]).toEqual([VERSION, file, sum])
    expect(manifest.replace(/^#.*$/gm, '')).not.toMatch(/VERSION|SHA256|OWNER/)
  })

  it('are the same to the byte when they are built twice', () => {
    // A build of another moment.
    utimesSync(join(ROOT, 'apps/kubectl-csi/dist/kubectl-csi.cjs'), 1, 1)
    makePrograms(join(folder, 'again'), 0)
    for (const file of files) {
      expect([file, readFileSync(join(folder, 'again', file)).equals(readFileSync(first(file)))]).toEqual([file, true])
    }
  }, 60_000)
})

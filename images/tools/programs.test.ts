import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROOT, readJson, releaseVersion } from './bundle.ts'
import { executableName } from './executables.ts'
import { homeOf } from './fill.ts'
import { KREW, krewManifest, makePrograms } from './programs.ts'

const VERSION = releaseVersion()
const BUILT = 'x64'
const EXECUTABLES = [
  executableName('kubectl-csi', VERSION, BUILT),
  `kubectl-csi-${VERSION}-THIRD-PARTY-NOTICES.txt`,
] as const

/** Returns the values of a key in the krew manifest, one for each platform. */
const valuesIn = (text: string, key: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^ +${key}: (.*)$`, 'gm'))].map(([, value = '']) => value)

describe('makePrograms', () => {
  let folder: string
  let files: readonly string[]

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'programs-'))
    mkdirSync(join(folder, 'first'))
    // Text files replace the executables, because executables are slow to build.
    for (const name of EXECUTABLES) writeFileSync(join(folder, 'first', name), name)
    files = makePrograms(join(folder, 'first'))
  }, 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const first = (file: string): string => join(folder, 'first', file)
  const packed = (file: string): readonly string[] =>
    execFileSync('tar', ['-tzf', first(file)], { encoding: 'utf8' })
      .trim()
      .split('\n')

  it('the archives contain the kubectl plugin, csi-devcluster and csi-driver-test', () => {
    expect(files).toEqual([
      'kubectl-csi.tar.gz',
      `kubectl-csi-linux-${BUILT}.tar.gz`,
      `csi-devcluster-${VERSION.slice(1)}.tgz`,
      `csi-driver-test-${VERSION.slice(1)}.tgz`,
      `kubectl-csi-${VERSION.slice(1)}.tgz`,
    ])
    expect(packed(`kubectl-csi-${VERSION.slice(1)}.tgz`).toSorted()).toEqual([
      'package/LICENSE',
      'package/README.md',
      'package/THIRD-PARTY-NOTICES.txt',
      'package/kubectl-csi.cjs',
      'package/package.json',
    ])
    expect(packed('kubectl-csi.tar.gz')).toEqual(['LICENSE', 'THIRD-PARTY-NOTICES.txt', 'kubectl-csi.cjs'])
    expect(packed(`kubectl-csi-linux-${BUILT}.tar.gz`)).toEqual(['LICENSE', 'THIRD-PARTY-NOTICES.txt', 'kubectl-csi'])
  })

  it('the krew manifest, the README and package.json of kubectl-csi name the same Node.js version', () => {
    const [, manifest] = /Node\.js (\d+) or later/.exec(readFileSync(KREW, 'utf8')) ?? []
    const [, readme] =
      /Node\.js (\d+) or later/.exec(readFileSync(join(ROOT, 'desk/kubectl-csi/README.md'), 'utf8')) ?? []
    const { engines } = readJson<{ engines: { node: string } }>(join(ROOT, 'desk/kubectl-csi/dist/package.json'))
    expect([manifest, readme]).toEqual([engines.node.slice(2), engines.node.slice(2)])
  })

  it('the archives come with a krew manifest that has a version, an address and a checksum for each archive', () => {
    const text = krewManifest(readFileSync(KREW, 'utf8'), join(folder, 'first'))
    expect(text).not.toMatch(/VERSION|SHA256|OLDEST_NODE|OWNER/)
    expect(valuesIn(text, 'version')).toEqual([VERSION])
    expect(valuesIn(text, 'matchLabels')).toEqual(['{ os: linux, arch: amd64 }', '{ os: darwin }'])
    const uris = valuesIn(text, 'uri')
    expect(uris.map((uri) => dirname(uri))).toEqual(
      Array(2).fill(`https://github.com/${homeOf(ROOT)}/releases/download/${VERSION}`),
    )
    const archives = uris.map((uri) => basename(uri))
    expect(archives).toEqual([`kubectl-csi-linux-${BUILT}.tar.gz`, 'kubectl-csi.tar.gz'])
    const sumOf = (file: string): string =>
      createHash('sha256')
        .update(readFileSync(first(file)))
        .digest('hex')
    expect(valuesIn(text, 'sha256')).toEqual(archives.map(sumOf))
    const bins = valuesIn(text, 'bin')
    for (const [index, archive] of archives.entries()) expect(packed(archive)).toContain(bins[index])
  })

  it('`krewManifest` throws if a platform of the krew manifest has no address', () => {
    expect(() => krewManifest('a:\n    - selector:\n        x: y\n', folder)).toThrow('has no uri')
  })

  it('two builds of the archives are equal byte by byte', () => {
    // The changed file time simulates a later build.
    utimesSync(join(ROOT, 'desk/kubectl-csi/dist/kubectl-csi.cjs'), 1, 1)
    mkdirSync(join(folder, 'again'))
    for (const name of EXECUTABLES) writeFileSync(join(folder, 'again', name), name)
    makePrograms(join(folder, 'again'))
    for (const file of files) {
      expect([file, readFileSync(join(folder, 'again', file)).equals(readFileSync(first(file)))]).toEqual([file, true])
    }
  }, 60_000)
})

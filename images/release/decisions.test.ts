import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { attests } from './cosign.ts'
import { collectFiles, sha256Of, writeChecksums } from './files.ts'
import { releaseNotes, sectionOf } from './notes.ts'
import { completePage, pageStateOf } from './page.ts'
import { whyNotReady } from './readiness.ts'
import { MemoryPage } from './rehearsal/page.ts'

const CHANGELOGS = { 'csi-attacher': '# a\n\n## 1.2.3\n\nOne thing.\n\n## 1.2.2\n\nOld.\n', 'csi-resizer': '' }
const READY = {
  tag: 'v1.2.3',
  version: '1.2.3',
  changesets: ['README.md', 'config.json'],
  named: [],
  changelogs: CHANGELOGS,
}

describe('a tag', () => {
  it.each([
    ['may be released', {}, []],
    ['is that of another version', { tag: 'v1.2.4' }, ['the tag is v1.2.4, and the version of the sidecars is 1.2.3']],
    [
      'would leave changesets out of the notes',
      { changesets: ['README.md', 'a.md', 'b.md'], named: ['b'] },
      ['1 changesets are pending (a.md): merge "Versions of the next release" first'],
    ],
    ['may be released when a version before it has named the changesets', { changesets: ['a.md'], named: ['a'] }, []],
    ['has no notes', { changelogs: { 'csi-attacher': '## 1.2.2\n' } }, ['no changelog has a section for 1.2.3']],
  ])('%s', (_, difference, expected) => {
    expect(whyNotReady({ ...READY, ...difference })).toEqual(expected)
  })

  it('has the notes of its version', () => {
    expect(sectionOf(CHANGELOGS['csi-attacher'], '1.2.3')).toBe('One thing.')
    expect(releaseNotes(CHANGELOGS, '1.2.3')).toBe('## csi-attacher\n\nOne thing.\n\n## csi-resizer\n\nNo changes.\n')
  })
})

it('an attestation is there only if it says exactly that', () => {
  const line = (predicate: object): string =>
    JSON.stringify({ payload: Buffer.from(JSON.stringify({ predicate })).toString('base64') })
  const verified = `checked\n${line({ of: 'amd64' })}\n${line({ of: 'arm64' })}\n`
  expect(attests(verified, { of: 'arm64' })).toBe(true)
  expect(attests(verified, { of: 's390x' })).toBe(false)
})

describe('files of a release', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'files-'))
    for (const machine of ['x64', 'arm64']) {
      mkdirSync(join(folder, machine))
      writeFileSync(join(folder, machine, machine), machine)
      writeFileSync(join(folder, machine, 'same'), 'same')
    }
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const collect = (): string => {
    const out = join(folder, 'out')
    collectFiles(
      ['x64', 'arm64'].map((machine) => join(folder, machine)),
      out,
    )
    return out
  }

  it('come from all machines, and what two of them make is the same', () => {
    writeChecksums(collect())
    const page = new MemoryPage()
    writeFileSync(join(folder, 'arm64/same'), 'different')
    expect(collect).toThrow('the machines of the build made a different same')
    expect(page.state).toBeUndefined()
  })

  it('are completed on a page that an interruption left, which is published last', async () => {
    const out = collect()
    const page = new MemoryPage()
    page.state = { draft: true, files: { same: sha256Of(join(out, 'same')) } }
    await completePage(page, out, 'notes')
    expect(page.state).toMatchObject({ draft: false, files: { x64: sha256Of(join(out, 'x64')) } })
    await completePage(page, out, 'notes')
  })

  it('end a release when the page has other content, or is published without them; a signature may differ', async () => {
    const out = collect()
    const page = new MemoryPage()
    page.state = { draft: true, files: { same: 'ab' } }
    await expect(completePage(page, out, '')).rejects.toThrow('has a same with other content')
    page.state = { draft: false, files: { same: sha256Of(join(out, 'same')) } }
    await expect(completePage(page, out, '')).rejects.toThrow('published without arm64, x64')
    rmSync(out, { recursive: true })
    mkdirSync(out)
    writeFileSync(join(out, 'SHA256SUMS.sigstore.json'), 'new')
    page.state = { draft: false, files: { 'SHA256SUMS.sigstore.json': 'old' } }
    await completePage(page, out, '')
  })

  it('that did not arrive completely on the page are not there', () => {
    const assets = [
      { name: 'a', state: 'uploaded', digest: 'sha256:ab' },
      { name: 'b', state: 'starter', digest: null },
    ]
    expect(pageStateOf([{ tag_name: 'v1', draft: true, assets }], 'v1')).toEqual({ draft: true, files: { a: 'ab' } })
    expect(pageStateOf([], 'v1')).toBeUndefined()
  })
})

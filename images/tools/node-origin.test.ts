import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeOrigin, whyNotPublished } from './node-origin.ts'

const NAME = 'node-v26.0.0-linux-x64'

describe('the Node.js that is shipped', () => {
  let folder: string
  let file: string
  let published: { checksums: string; archive: string }

  /** What the project publishes, made up: an archive with bin/node, and the list with its checksum. */
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'published-'))
    mkdirSync(join(folder, NAME, 'bin'), { recursive: true })
    file = join(folder, 'node')
    writeFileSync(file, 'a program')
    copyFileSync(file, join(folder, NAME, 'bin/node'))
    const archive = join(folder, `${NAME}.tar.gz`)
    execFileSync('tar', ['-czf', archive, '-C', folder, NAME])
    const checksums = join(folder, 'SHASUMS256.txt')
    const sum = createHash('sha256').update(readFileSync(archive)).digest('hex')
    writeFileSync(checksums, `${'0'.repeat(64)}  node-v26.0.0-linux-arm64.tar.gz\n${sum}  ${NAME}.tar.gz\n`)
    published = { checksums, archive }
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  function flip(path: string): void {
    const content = readFileSync(path)
    const last = content.length - 1
    content[last] = (content[last] ?? 0) ^ 1
    writeFileSync(path, content)
  }

  it('is the one that its project has published', () => {
    expect(whyNotPublished(file, published)).toBeUndefined()
  })

  it('is another one when a byte differs', () => {
    flip(file)
    expect(whyNotPublished(file, published)).toMatch(/node has SHA-256 [0-9a-f]{64}, and that of node-v26\S+ has /)
  })

  it('is not compared with an archive that its checksum does not fit, or that is not listed', () => {
    flip(published.archive)
    expect(whyNotPublished(file, published)).toMatch(/tar\.gz is not what .*SHASUMS256\.txt says/)
    const other = join(folder, 'node-v26.0.0-linux-s390x.tar.gz')
    copyFileSync(published.archive, other)
    expect(whyNotPublished(file, { ...published, archive: other })).toMatch(/does not list node-v26\.0\.0-linux-s390x/)
  })

  it('comes from an npm package that the lockfile names', () => {
    const { name, version, integrity, sha256 } = nodeOrigin()
    expect([name, version]).toEqual([expect.stringMatching(/^node-(?:bin-)?\w+-\w+$/), process.version.slice(1)])
    expect(integrity).toMatch(/^sha512-/)
    expect(sha256).toBe(createHash('sha256').update(readFileSync(process.execPath)).digest('hex'))
    expect(() => nodeOrigin('node-linux-pdp11')).toThrow('package-lock.json has no node-linux-pdp11')
  })
})

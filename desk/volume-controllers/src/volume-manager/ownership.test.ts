import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { giveToGroup } from './ownership.ts'

/** The Unix group of this process, to which it may give its files even without root rights. */
const gid = process.getgid?.() ?? 0

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ownership-'))
  mkdirSync(join(root, 'folder'))
  writeFileSync(join(root, 'folder', 'file'), 'x')
  chmodSync(join(root, 'folder', 'file'), 0o600)
  chmodSync(join(root, 'folder'), 0o700)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const modeOf = (path: string): string => (statSync(join(root, path)).mode & 0o7777).toString(8)

describe('giveToGroup', () => {
  it('after the change of its group, a folder is writable for the group', () => {
    giveToGroup(root, { gid, onRootMismatch: false })
    expect([modeOf('.'), modeOf('folder'), modeOf('folder/file')]).toEqual(['2770', '2770', '660'])
  })

  it('with the policy `onRootMismatch`, a folder whose root belongs to the group is skipped', () => {
    chmodSync(root, 0o2770)
    giveToGroup(root, { gid, onRootMismatch: true })
    expect(modeOf('folder/file')).toBe('600')
    chmodSync(root, 0o700)
    giveToGroup(root, { gid, onRootMismatch: true })
    expect(modeOf('folder/file')).toBe('660')
  })

  it('a change of the group does not change the targets of links', () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'))
    try {
      writeFileSync(join(outside, 'file'), 'x')
      chmodSync(join(outside, 'file'), 0o600)
      symlinkSync(outside, join(root, 'link'))
      giveToGroup(root, { gid, onRootMismatch: false })
      expect((statSync(join(outside, 'file')).mode & 0o777).toString(8)).toBe('600')
    } finally {
      rmSync(outside, { recursive: true })
    }
  })
})

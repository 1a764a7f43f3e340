import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mountOptions, mountsBelow, removeFolder } from './driver/mounts.ts'
import { checkReportFile, csiDriverOf, refuseOther } from './files.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'files-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

function file(text: string): string {
  const path = join(directory, 'file')
  writeFileSync(path, text)
  return path
}

describe('csiDriverOf', () => {
  it('the flag `--csidriver` is optional, and its file may be YAML', async () => {
    const path = file('kind: CSIDriver\nmetadata: {name: d}\nspec:\n  volumeLifecycleModes: [Ephemeral]\n')
    expect(await csiDriverOf(path)).toEqual({ metadata: { name: 'd' }, spec: { volumeLifecycleModes: ['Ephemeral'] } })
    expect(await csiDriverOf(undefined)).toBeUndefined()
  })

  it.each([
    ['kind: Pod', 'it is a Pod, not a CSIDriver'],
    ['kind: CSIDriver', 'it has no name'],
    ['- a', 'yaml: the document is not a mapping'],
  ])('the file of `--csidriver` causes an error with its name if it contains "%s"', async (text, why) => {
    const path = file(text)
    await expect(csiDriverOf(path)).rejects.toThrow(`--csidriver ${path}: ${why}`)
  })

  it('an unreadable `--csidriver` file causes an error', async () => {
    await expect(csiDriverOf('/nowhere')).rejects.toThrow('--csidriver /nowhere: ENOENT')
  })
})

describe('checkReportFile', () => {
  it('the check whether a report file can be written does not change the file', async () => {
    const fresh = join(directory, 'fresh')
    await checkReportFile('report', fresh)
    expect(existsSync(fresh)).toBe(false)
    const old = file('of the last test')
    await checkReportFile('report', old)
    expect(readFileSync(old, 'utf8')).toBe('of the last test')
    await checkReportFile('report', undefined)
  })

  it.each(['', 'missing/r.xml'])('the report path "%s", which cannot be written, causes an error', async (name) => {
    const path = join(directory, name)
    await expect(checkReportFile('report', path)).rejects.toThrow(`--report ${path} cannot be written: E`)
  })
})

describe('mounts', () => {
  const line = (path: string): string => `36 35 0:32 / ${path} rw,relatime shared:1 - tmpfs tmpfs rw`

  it('the list of mounts contains the mounts below a folder', async () => {
    const list = file([line('/data/a b'.replace(' ', '\\040')), line('/data'), line('/database/x')].join('\n'))
    expect(await mountsBelow('/data', list)).toEqual(['/data/a b'])
    expect(await mountsBelow('/data', '/nowhere')).toEqual([])
  })

  it('the list of mounts contains the options of the last mount at a path, and of the mounted file system', async () => {
    const list = file([line('/data'), '1 2 0:3 / /data rw,noatime - ext4 /dev/loop0 rw,discard'].join('\n'))
    expect([...((await mountOptions('/data', list)) ?? [])]).toEqual(['rw', 'noatime', 'discard'])
    expect(await mountOptions('/data/x', list)).toBeUndefined()
  })

  it('a folder that contains a mount is not removed', async () => {
    const folder = join(directory, 'folder')
    mkdirSync(join(folder, 'x'), { recursive: true })
    expect(await removeFolder(folder, file(line(join(folder, 'x'))))).toBe(false)
    expect(existsSync(folder)).toBe(true)
    expect(await removeFolder(folder, file(''))).toBe(true)
    expect(existsSync(folder)).toBe(false)
  })
})

it('the CSIDriver of another driver causes an error of one line', () => {
  const csiDriver = { metadata: { name: 'a.example.com' }, spec: {} }
  expect(() => refuseOther(csiDriver, 'b.example.com')).toThrow(
    '--csidriver: it is the CSIDriver of a.example.com, and the driver is b.example.com',
  )
  expect(() => refuseOther(csiDriver, 'a.example.com')).not.toThrow()
  expect(() => refuseOther(undefined, 'b.example.com')).not.toThrow()
})

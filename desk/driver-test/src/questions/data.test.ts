import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { CONTENT_BUGS, type ContentBug, keepContents } from '../testing/contents.ts'
import { foundDirectly } from '../testing/direct-setting.ts'
import { copies } from '../testing/placing.ts'
import { keepSnapshots, SNAPSHOTS } from '../testing/snapshots.ts'
import { checkData } from './data.ts'

const folder = mkdtempSync(join(tmpdir(), 'contents-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the findings of `checkData` for an emulated driver that stores files and bytes, with one bug or none. */
async function found(bug?: ContentBug) {
  const placing = copies()
  return await foundDirectly(
    (emulated) => {
      keepSnapshots(emulated.driver, {})
      keepContents(emulated, { folder: join(folder, bug ?? 'none'), placing, bug })
    },
    checkData,
    { controller: SNAPSHOTS, mountOptions: placing.optionsAt },
  )
}

describe('checkData', () => {
  it('the data check accepts a correct driver, and leaves no volume', async () => {
    expect(await found()).toEqual({ findings: [], left: [] })
    expect(readdirSync(join(folder, 'none'))).toEqual([])
  })

  it.each<readonly [ContentBug, RegExp]>([
    ['data-forgotten', /^volume \S+ has "nothing: ENOENT.* after an unmount and a mount, not "written first"/],
    ['data-stays-on-node', /^volume \S+ has "nothing: .* after a move to another node/],
    ['block-forgotten', /^block volume \S+ has "" after an unmount and a mount, not "written first"/],
    ['block-too-short', /^block volume \S+ has 1073741824 bytes, and the last of them cannot be read: it ends before/],
    ['block-not-expanded', /^block volume \S+ has 2147483648 bytes, and the last of them cannot be read/],
    ['clone-empty', /has "nothing: .* in the clone of vol-/],
    ['clone-shared', /has "written to the clone" after its clone was written/],
    ['snapshot-follows-volume', /has "written after the snapshot" restored from a snapshot of vol-/],
    ['clone-copied-again', /has "written first" after its CreateVolume was repeated, not "written to the clone"/],
    ['snapshot-taken-again', /has "written after the snapshot" restored from a snapshot .* that was requested again/],
    ['reader-may-write', /was mounted to be read, and could be written$/],
    ['usage-with-old-size', /has 1073741824 bytes by NodeGetVolumeStats, as before its expansion/],
  ])('`checkData` finds the bug %s', async (bug, text) => {
    const { findings, left } = await found(bug)
    expect(findings).toContainEqual(
      expect.objectContaining({ check: CONTENT_BUGS[bug], text: expect.stringMatching(text) }),
    )
    expect(left).toEqual([])
  })
})

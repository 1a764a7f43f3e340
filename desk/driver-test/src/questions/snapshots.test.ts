import { describe, expect, it } from '@jest/globals'
import { foundDirectly } from '../testing/direct-setting.ts'
import { keepSnapshots, SNAPSHOT_BUGS, SNAPSHOTS, type SnapshotBug } from '../testing/snapshots.ts'
import { checkSnapshots } from './snapshots.ts'
import { askStrictly } from './strict.ts'

const found = async (options: { readonly bug?: SnapshotBug; readonly readyAfter?: number }) =>
  await foundDirectly(
    ({ driver }) => keepSnapshots(driver, { ...options, file: `${driver.socket}.snapshots` }),
    async (setting) => {
      await askStrictly(setting)
      await checkSnapshots(setting)
    },
    { controller: SNAPSHOTS },
  )

describe('checkSnapshots', () => {
  it('the snapshot check accepts a correct driver, and leaves no volume', async () => {
    expect(await found({})).toEqual({ findings: [], left: [] })
  })

  it('the snapshot check waits until a snapshot is ready', async () => {
    expect(await found({ readyAfter: 3 })).toEqual({ findings: [], left: [] })
  })

  it.each<readonly [SnapshotBug, RegExp]>([
    ['snapshot-each-time', /^CreateSnapshot of \S+ gave snapshot snap-\S+, and then snap-/],
    ['snapshot-unlisted', /^ListSnapshots by snapshotId does not list snap-\S+ alone, but \[\]/],
    ['snapshot-names-other-source', /^a snapshot of vol-\d+ names "other" as its source/],
    ['snapshot-deleted-once', /^DeleteSnapshot of snap-\S+ had succeeded, and failed when it was repeated/],
    ['snapshot-lost-with-source', /^ListSnapshots by snapshotId does not list \S+ alone, but \[\]/],
    ['snapshots-lost-at-kill', /^ListSnapshots by snapshotId does not list \S+ alone, but \[\]/],
    ['snapshot-of-other-volume', /^CreateSnapshot of a known name and another volume was answered with OK/],
    ['snapshot-of-unknown-volume', /^CreateSnapshot of an unknown volume was answered with OK, not with NotFound/],
  ])('`checkSnapshots` finds the bug %s', async (bug, text) => {
    const { findings, left } = await found({ bug })
    expect(findings).toContainEqual(
      expect.objectContaining({ check: SNAPSHOT_BUGS[bug], text: expect.stringMatching(text) }),
    )
    expect(left).toEqual([])
  })
})

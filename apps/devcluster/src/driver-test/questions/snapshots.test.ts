import type {
  CreateSnapshotRequest,
  CreateVolumeRequest,
  DeleteSnapshotRequest,
  ListSnapshotsRequest,
  Snapshot,
} from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { describe, expect, it } from '@jest/globals'
import { type EmulatedParts, foundDirectly } from '../../testing/direct-setting.ts'
import { checkSnapshots } from './snapshots.ts'

interface Faults {
  readonly newEachTime?: boolean
  readonly unlisted?: boolean
  readonly deletedOnce?: boolean
  readonly otherSource?: boolean
}

/** Snapshots of an emulated driver, which has none of its own. */
function withSnapshots(faults: Faults): (parts: EmulatedParts) => void {
  return ({ driver }) => {
    const all = new Map<string, Snapshot>()
    driver.script('CreateSnapshot', ({ name, sourceVolumeId }: CreateSnapshotRequest) => {
      const snapshotId = `snap-${name}${faults.newEachTime === true ? `-${all.size}` : ''}`
      const source = faults.otherSource === true ? 'other' : sourceVolumeId
      const rest = {
        sizeBytes: 1n,
        creationTime: undefined,
        readyToUse: true,
        groupSnapshotId: '',
        accessibleTopology: [],
      }
      const snapshot = { snapshotId, sourceVolumeId: source, ...rest }
      all.set(snapshotId, snapshot)
      return { snapshot }
    })
    driver.script('ListSnapshots', ({ snapshotId, sourceVolumeId }: ListSnapshotsRequest) => {
      const wanted = [...all.values()].filter((each) =>
        snapshotId === '' ? each.sourceVolumeId === sourceVolumeId : each.snapshotId === snapshotId,
      )
      return { entries: faults.unlisted === true ? [] : wanted.map((snapshot) => ({ snapshot })), nextToken: '' }
    })
    driver.script('DeleteSnapshot', ({ snapshotId }: DeleteSnapshotRequest) => {
      if (snapshotId === '') throw new DriverFailure('INVALID_ARGUMENT', 'snapshot_id is required')
      const known = all.delete(snapshotId)
      if (faults.deletedOnce === true && !known) throw new DriverFailure('NOT_FOUND', snapshotId)
      return {}
    })
    driver.script('CreateVolume', (request: CreateVolumeRequest) => {
      const { volumeContentSource } = request
      const { volume } = driver.own<CreateVolumeRequest, { volume: object }>('CreateVolume', {
        ...request,
        volumeContentSource: undefined,
      })
      return { volume: { ...volume, contentSource: volumeContentSource } }
    })
  }
}

const found = async (faults: Faults) => await foundDirectly(withSnapshots(faults), checkSnapshots, SNAPSHOTS)
const SNAPSHOTS = ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'] as const

describe('snapshots', () => {
  it('find nothing in a correct driver, and leave nothing', async () => {
    expect(await found({})).toEqual({ findings: [], left: [] })
  })

  it.each<readonly [string, Faults, string, RegExp]>([
    [
      'creates one each time',
      { newEachTime: true },
      'snapshots',
      /^CreateSnapshot of \S+ gave snap-\S+, and then snap-/,
    ],
    [
      'does not list it',
      { unlisted: true },
      'snapshots',
      /^ListSnapshots by snapshotId does not list snap-\S+ alone, but \[\]/,
    ],
    ['names another source', { otherSource: true }, 'snapshots', /^a snapshot of vol-\d+ names "other" as its source/],
    ['cannot delete it again', { deletedOnce: true }, 'snapshots', /^DeleteSnapshot again was answered with NotFound/],
  ])('are checked: a driver %s', async (_, faults, check, text) => {
    const { findings } = await found(faults)
    expect(findings).toContainEqual(expect.objectContaining({ check, text: expect.stringMatching(text) }))
  })
})

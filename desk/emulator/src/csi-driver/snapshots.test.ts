import type { CreateVolumeRequest, VolumeCapability } from '@csi-sidecars/csi-proto'
import { status } from '@grpc/grpc-js'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { EmulatedController } from './controller.ts'
import { DriverFailure } from './driver-failure.ts'
import { GroupController } from './group-controller.ts'
import { DEFAULT_SETTINGS, type DriverSettings } from './settings.ts'
import { Volumes } from './volumes.ts'

let now: number
let settings: DriverSettings
let volumes: Volumes
let controller: EmulatedController
let groups: GroupController

beforeEach(() => {
  now = 1_000
  settings = {
    ...DEFAULT_SETTINGS,
    plugin: ['CONTROLLER_SERVICE', 'GROUP_CONTROLLER_SERVICE'],
    controller: [...DEFAULT_SETTINGS.controller, 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT'],
  }
  volumes = new Volumes(settings, { clock: { now: () => now } })
  controller = new EmulatedController(settings, volumes)
  groups = new GroupController(settings, volumes)
  for (const id of ['v1', 'v2']) volumes.add({ id, name: id, capacityBytes: 10n })
})

const createSnapshot = (name: string, sourceVolumeId = 'v1') =>
  controller.CreateSnapshot({ name, sourceVolumeId, secrets: {}, parameters: {}, accessibilityRequirements: undefined })
    .snapshot
const list = (change: Partial<Parameters<EmulatedController['ListSnapshots']>[0]> = {}) =>
  controller.ListSnapshots({
    maxEntries: 0,
    startingToken: '',
    sourceVolumeId: '',
    snapshotId: '',
    secrets: {},
    ...change,
  })
const takeGroup = (name: string, sourceVolumeIds: string[]) =>
  groups.CreateVolumeGroupSnapshot({ name, sourceVolumeIds, secrets: {}, parameters: {} }).groupSnapshot

const BLOCK: VolumeCapability = { accessType: { $case: 'block', value: {} }, accessMode: { mode: 1 } }

const create = (name: string, change: Partial<CreateVolumeRequest> = {}) =>
  controller.CreateVolume({
    name,
    capacityRange: { requiredBytes: 0n, limitBytes: 0n },
    volumeCapabilities: [BLOCK],
    parameters: {},
    secrets: {},
    volumeContentSource: undefined,
    accessibilityRequirements: undefined,
    mutableParameters: {},
    ...change,
  }).volume

function refusal(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof DriverFailure) return status[error.code] ?? String(error.code)
    throw error
  }
  return 'OK'
}

describe('snapshots', () => {
  it('the emulated driver returns the same snapshot for the same name, but not for another volume', () => {
    const first = createSnapshot('a')
    expect(createSnapshot('a')).toEqual(first)
    expect(first).toMatchObject({ sourceVolumeId: 'v1', sizeBytes: 10n, creationTime: { seconds: 1n, nanos: 0 } })
    expect(refusal(() => createSnapshot('a', 'v2'))).toBe('ALREADY_EXISTS')
    expect(refusal(() => createSnapshot('b', 'none'))).toBe('NOT_FOUND')
    expect(refusal(() => createSnapshot(''))).toBe('INVALID_ARGUMENT')
  })

  it('the emulated driver marks a snapshot as ready after `snapshotReadyAfterMs`', () => {
    settings.snapshotReadyAfterMs = 500
    expect(createSnapshot('a')?.readyToUse).toBe(false)
    now = 1_500
    expect(createSnapshot('a')?.readyToUse).toBe(true)
  })

  it('the emulated driver lists snapshots by their ID, by their volume and in pages', () => {
    const ids = [createSnapshot('a'), createSnapshot('b', 'v2'), createSnapshot('c')].map(
      (snapshot) => snapshot?.snapshotId,
    )
    const idsOf = (answer: ReturnType<typeof list>) => answer.entries.map(({ snapshot }) => snapshot?.snapshotId)
    expect(idsOf(list({ sourceVolumeId: 'v1' }))).toEqual([ids[0], ids[2]])
    expect(idsOf(list({ snapshotId: String(ids[1]) }))).toEqual([ids[1]])
    expect(idsOf(list({ snapshotId: 'none' }))).toEqual([])
    const page = list({ maxEntries: 2 })
    expect([...idsOf(page), ...idsOf(list({ startingToken: page.nextToken }))]).toEqual(ids)
  })

  it('the emulated driver keeps a snapshot after the deletion of its volume, and accepts a second DeleteSnapshot', () => {
    const id = createSnapshot('a')?.snapshotId ?? ''
    controller.DeleteVolume({ volumeId: 'v1', secrets: {} })
    expect(controller.GetSnapshot({ snapshotId: id, secrets: {} }).snapshot?.snapshotId).toBe(id)
    controller.DeleteSnapshot({ snapshotId: id, secrets: {} })
    expect(refusal(() => controller.DeleteSnapshot({ snapshotId: id, secrets: {} }))).toBe('OK')
    expect(refusal(() => controller.GetSnapshot({ snapshotId: id, secrets: {} }))).toBe('NOT_FOUND')
  })

  it('the emulated driver restores a snapshot, but not into a smaller volume', () => {
    const snapshotId = createSnapshot('a')?.snapshotId ?? ''
    const from = { volumeContentSource: { type: { $case: 'snapshot' as const, value: { snapshotId } } } }
    expect(create('copy', from)).toMatchObject({ capacityBytes: 10n, contentSource: from.volumeContentSource })
    const less = { capacityRange: { requiredBytes: 9n, limitBytes: 0n } }
    expect(refusal(() => create('small', { ...from, ...less }))).toBe('OUT_OF_RANGE')
  })

  it('the emulated driver refuses snapshots without the capabilities for them', () => {
    settings.controller = []
    expect(refusal(() => createSnapshot('a'))).toBe('UNIMPLEMENTED')
    expect(refusal(() => list())).toBe('UNIMPLEMENTED')
  })
})

describe('group snapshots', () => {
  it('the emulated driver takes one snapshot of each volume of a group, and deletes a group as a whole', () => {
    const group = takeGroup('g', ['v1', 'v2'])
    const snapshotIds = group?.snapshots.map((each) => each.snapshotId) ?? []
    const groupSnapshotId = group?.groupSnapshotId ?? ''
    expect(takeGroup('g', ['v2', 'v1'])).toEqual(group)
    expect(group?.snapshots.map((each) => each.sourceVolumeId)).toEqual(['v1', 'v2'])
    expect(refusal(() => takeGroup('g', ['v1']))).toBe('ALREADY_EXISTS')
    const [first = ''] = snapshotIds
    expect(refusal(() => controller.DeleteSnapshot({ snapshotId: first, secrets: {} }))).toBe('INVALID_ARGUMENT')
    const named = { groupSnapshotId, snapshotIds, secrets: {} }
    expect(groups.GetVolumeGroupSnapshot(named).groupSnapshot).toEqual(group)
    expect(refusal(() => groups.GetVolumeGroupSnapshot({ ...named, snapshotIds: [] }))).toBe('INVALID_ARGUMENT')
    groups.DeleteVolumeGroupSnapshot(named)
    expect(refusal(() => groups.DeleteVolumeGroupSnapshot(named))).toBe('OK')
    expect(refusal(() => groups.GetVolumeGroupSnapshot(named))).toBe('NOT_FOUND')
    expect(volumes.snapshots.all).toEqual([])
  })

  it('the emulated driver refuses group snapshots without the group controller service', () => {
    settings.plugin = ['CONTROLLER_SERVICE']
    expect(refusal(() => takeGroup('g', ['v1']))).toBe('UNIMPLEMENTED')
  })
})

describe('pools', () => {
  const place = (zone: string) => ({ segments: { zone } })
  const [east, west] = [place('east'), place('west')]
  const capacityOf = (accessibleTopology: typeof east | undefined): bigint =>
    controller.GetCapacity({ volumeCapabilities: [], parameters: {}, accessibleTopology }).availableCapacity

  beforeEach(() => {
    settings.pools = [
      { ...east, bytes: 100n },
      { ...west, bytes: 20n },
    ]
  })

  it('the emulated driver creates volumes only in pools with enough free bytes', () => {
    const where = { accessibilityRequirements: { requisite: [east, west], preferred: [west] } }
    const size = { capacityRange: { requiredBytes: 15n, limitBytes: 0n } }
    expect(create('a', { ...where, ...size })?.accessibleTopology).toEqual([west])
    expect(create('b', { ...where, ...size })?.accessibleTopology).toEqual([east])
    expect([east, west, place('north'), undefined].map(capacityOf)).toEqual([85n, 5n, 0n, 90n])
    const only = { accessibilityRequirements: { requisite: [west], preferred: [] } }
    expect(refusal(() => create('c', { ...only, ...size }))).toBe('RESOURCE_EXHAUSTED')
  })
})

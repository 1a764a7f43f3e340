import { existsSync, readFileSync } from 'node:fs'
import type {
  CreateSnapshotRequest,
  CreateVolumeRequest,
  DeleteSnapshotRequest,
  ListSnapshotsRequest,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure } from '@csi-sidecars/emulator'
import type { CheckName } from '../checks/checks.ts'
import { writeWhole } from './whole-file.ts'

/** The bugs that a test can add to snapshots, and the promise that each bug breaks. */
export const SNAPSHOT_BUGS = {
  'snapshot-each-time': 'snapshots',
  'snapshot-unlisted': 'snapshots',
  'snapshot-names-other-source': 'snapshots',
  'snapshot-deleted-once': 'idempotence',
  'snapshot-lost-with-source': 'snapshots',
  'snapshot-of-other-volume': 'strict',
  'snapshot-of-unknown-volume': 'strict',
  'snapshot-left-if-unready': 'ended',
  'snapshot-left-if-restored': 'ended',
  'snapshots-lost-at-kill': 'snapshots',
} as const satisfies Record<string, CheckName>
export type SnapshotBug = keyof typeof SNAPSHOT_BUGS

export const SNAPSHOTS = ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'] as const

interface SnapshotOptions {
  readonly bug?: SnapshotBug | undefined
  /** The file that keeps the snapshots when the driver is killed. */
  readonly file?: string
  /** The number of CreateSnapshot calls until a snapshot is ready. */
  readonly readyAfter?: number
}

interface Kept {
  readonly name: string
  readonly source: string
}

/** Lets an emulated driver take snapshots. */
export function keepSnapshots(driver: CsiDriver, { bug, file, readyAfter = 1 }: SnapshotOptions): void {
  const before = file !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
  const all = new Map<string, Kept>(before)
  const asked = new Map<string, number>()
  /** The restored snapshot of each volume. */
  const restored = new Map<string, string>()
  const save = (): void => {
    if (file !== undefined && bug !== 'snapshots-lost-at-kill') writeWhole(file, JSON.stringify([...all]))
  }
  const described = (snapshotId: string, { source }: Kept) => {
    const sourceVolumeId = bug === 'snapshot-names-other-source' ? 'other' : source
    const readyToUse = (asked.get(snapshotId) ?? 0) >= readyAfter
    const rest = { sizeBytes: 1n, creationTime: undefined, groupSnapshotId: '', accessibleTopology: [] }
    return { snapshotId, sourceVolumeId, readyToUse, ...rest }
  }
  driver.script('CreateSnapshot', ({ name, sourceVolumeId: source }: CreateSnapshotRequest) => {
    if (name === '' || source === '') throw new DriverFailure('INVALID_ARGUMENT', 'name and source are required')
    const [existing] = [...all].find(([, each]) => each.name === name) ?? []
    if (existing === undefined && bug !== 'snapshot-of-unknown-volume') driver.volumes.require(source)
    if (existing !== undefined && all.get(existing)?.source !== source && bug !== 'snapshot-of-other-volume') {
      throw new DriverFailure('ALREADY_EXISTS', `${name} is a snapshot of another volume`)
    }
    const id = existing === undefined || bug === 'snapshot-each-time' ? `snap-${name}-${all.size}` : existing
    if (!all.has(id)) all.set(id, { name, source })
    asked.set(id, (asked.get(id) ?? 0) + 1)
    save()
    return { snapshot: described(id, all.get(id) ?? { name, source }) }
  })
  driver.script('ListSnapshots', ({ snapshotId, sourceVolumeId }: ListSnapshotsRequest) => {
    const matching = [...all].filter(([id, { source }]) =>
      snapshotId === '' ? sourceVolumeId === '' || source === sourceVolumeId : id === snapshotId,
    )
    const listed = bug === 'snapshot-unlisted' ? [] : matching
    return { entries: listed.map(([id, kept]) => ({ snapshot: described(id, kept) })), nextToken: '' }
  })
  driver.script('DeleteSnapshot', ({ snapshotId }: DeleteSnapshotRequest) => {
    if (snapshotId === '') throw new DriverFailure('INVALID_ARGUMENT', 'snapshot_id is required')
    const isUnready = (asked.get(snapshotId) ?? 0) < readyAfter
    const isRestored = driver.volumes.all.some(({ id }) => restored.get(id) === snapshotId)
    if ((isUnready && bug === 'snapshot-left-if-unready') || (isRestored && bug === 'snapshot-left-if-restored'))
      return {}
    if (!all.delete(snapshotId) && bug === 'snapshot-deleted-once') throw new DriverFailure('NOT_FOUND', snapshotId)
    save()
    return {}
  })
  driver.script('CreateVolume', (request: CreateVolumeRequest) => {
    const { volumeContentSource } = request
    if (volumeContentSource?.type?.$case !== 'snapshot') return driver.usualAnswer('CreateVolume', request)
    const { snapshotId } = volumeContentSource.type.value
    if (!all.has(snapshotId)) throw new DriverFailure('NOT_FOUND', `snapshot ${snapshotId} does not exist`)
    if ((asked.get(snapshotId) ?? readyAfter) < readyAfter) {
      throw new DriverFailure('UNAVAILABLE', `snapshot ${snapshotId} is not ready`)
    }
    const { volume } = driver.usualAnswer<CreateVolumeRequest, { volume: { volumeId: string } }>('CreateVolume', {
      ...request,
      volumeContentSource: undefined,
    })
    restored.set(volume.volumeId, snapshotId)
    return { volume: { ...volume, contentSource: volumeContentSource } }
  })
  if (bug !== 'snapshot-lost-with-source') return
  driver.log.subscribe(({ method, code, request, end }) => {
    if (end === undefined || method !== 'DeleteVolume' || code !== 0) return
    for (const [id, { source }] of all) if (source === request['volumeId']) all.delete(id)
  })
}

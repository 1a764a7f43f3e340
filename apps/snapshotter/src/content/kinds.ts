import type { CallOptions, SnapshotClient } from '@csi-sidecars/csi'
import type { Snapshot, Timestamp } from '@csi-sidecars/csi-proto'
import type { Interner } from '@csi-sidecars/informer'
import {
  type KubeObject,
  type Resource,
  rfc3339,
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_GROUP_SNAPSHOTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { type Content, groupProjection, snapshotProjection } from '../caches/content.ts'
import { type ContentNames, GROUP_NAMES, SNAPSHOT_NAMES } from '../caches/names.ts'
import type { Naming, SnapshotterSettings } from '../parts.ts'
import { NotSentError } from './failure.ts'

/** The driver's answer about a snapshot or a group snapshot. */
export interface DriverSnapshot
  extends Pick<Snapshot, 'readyToUse' | 'creationTime'>,
    Partial<Pick<Snapshot, 'sizeBytes' | 'groupSnapshotId'>> {
  readonly handle: string
  /** The snapshots of a group, if the answer lists them. */
  readonly members?: readonly Snapshot[]
}

/** The parts of CreateSnapshot that an object and its class decide. */
export interface CreateRequest {
  readonly name: string
  readonly parameters: Record<string, string>
  readonly secrets: Record<string, string>
}

/** Parts of messages, as in the Go snapshotter. `checkSecret` is for the Secret of calls about an existing snapshot. */
type ContentTexts = Readonly<
  Record<
    | 'snapshot'
    | 'content'
    | 'snapshotContent'
    | 'credentials'
    | 'beingCreated'
    | 'wrapper'
    | 'creation'
    | 'check'
    | 'checkSecret',
    string
  >
>

/** The differences between VolumeSnapshotContents and VolumeGroupSnapshotContents: resources, CSI calls and texts. */
export interface ContentKind {
  readonly resource: Resource<KubeObject>
  readonly classes: Resource<KubeObject>
  readonly queue: string
  readonly metadataNames: ContentNames
  readonly texts: ContentTexts
  /** The kind of the object that the user creates. */
  readonly snapshots: Resource<KubeObject>
  readonly eventReasons: Readonly<Record<'create' | 'check' | 'delete' | 'shared' | 'left', string>>
  /** The name of the kind in metadata parameters and templates, such as `volumesnapshot`. */
  readonly prefix: string
  /** The prefix of the class parameters that name the Secret for ListSnapshots. */
  readonly checkSecretPrefix: string
  /** True if only a driver with the capability LIST_SNAPSHOTS can be asked about an existing snapshot. */
  readonly listsSnapshots: boolean
  naming(settings: Pick<SnapshotterSettings, 'snapshotNaming' | 'groupNaming'>): Naming
  project(driverName: string): (object: KubeObject, intern?: Interner) => Content | undefined
  /** The source of the snapshot as text, such as `the volume V`. */
  sourceText(content: Content): string
  create(calls: SnapshotClient, content: Content, request: CreateRequest & CallOptions): Promise<DriverSnapshot>
  check(
    calls: SnapshotClient,
    content: Content,
    request: Pick<CreateRequest, 'secrets'> & CallOptions,
  ): Promise<DriverSnapshot>
  delete(
    calls: SnapshotClient,
    snapshot: { readonly content: Content; readonly handle: string; readonly members: readonly string[] },
    request: Pick<CreateRequest, 'secrets'> & CallOptions,
  ): Promise<void>
  /** Returns the fields of the driver's answer that are missing in the status. */
  addedStatus(snapshot: DriverSnapshot, status: Content['status']): object
  /** The status fields that are removed after the snapshot has been deleted. */
  readonly clearedStatus: Readonly<Record<string, null>>
  /** The name of the status field with the handle. */
  readonly handleField: string
}

export const SNAPSHOT: ContentKind = {
  resource: VOLUME_SNAPSHOT_CONTENTS,
  classes: VOLUME_SNAPSHOT_CLASSES,
  snapshots: VOLUME_SNAPSHOTS,
  queue: 'csi-snapshotter-content',
  metadataNames: SNAPSHOT_NAMES,
  texts: {
    snapshot: 'snapshot',
    content: 'content',
    snapshotContent: 'snapshot content',
    credentials: 'snapshot',
    beingCreated: 'VolumeSnapshotBeingCreated',
    wrapper: 'createSnapshotWrapper',
    creation: 'createSnapshot for content',
    check: 'checkandUpdateContentStatus',
    checkSecret: 'SnapshotterList',
  },
  eventReasons: {
    create: 'SnapshotCreationFailed',
    check: 'SnapshotContentCheckandUpdateFailed',
    delete: 'SnapshotDeleteError',
    shared: 'SnapshotShared',
    left: 'SnapshotLeft',
  },
  prefix: 'volumesnapshot',
  checkSecretPrefix: 'snapshotter-list-secret-',
  listsSnapshots: true,
  naming: ({ snapshotNaming }) => snapshotNaming,
  project: snapshotProjection,
  sourceText: ({ volumes }) => `the volume ${volumes[0] ?? ''}`,
  async create(calls, { volumes }, { name, parameters, secrets, ...options }) {
    const sourceVolumeId = volumes[0] ?? ''
    const request = { name, sourceVolumeId, parameters, secrets, accessibilityRequirements: undefined }
    const { snapshot } = await calls.createSnapshot(request, options)
    const created = requirePart(snapshot, 'CreateSnapshot without a snapshot')
    // The group in the answer is dropped, as in the Go snapshotter. Otherwise the content would count as a group member,
    // whose snapshot is deleted only with the group.
    return { ...created, handle: created.snapshotId, groupSnapshotId: '' }
  },
  async check(calls, content, { secrets, ...options }) {
    const snapshotId = content.status?.handle ?? content.preProvisioned?.handle ?? ''
    const request = { snapshotId, secrets, maxEntries: 0, startingToken: '', sourceVolumeId: '' }
    const { entries } = await calls.listSnapshots(request, options)
    const [first] = entries
    if (first === undefined) throw new Error(`can not find snapshot for snapshotID ${snapshotId}`)
    return { ...requirePart(first.snapshot, 'ListSnapshots with an entry without a snapshot'), handle: snapshotId }
  },
  async delete(calls, { handle }, { secrets, ...options }) {
    await calls.deleteSnapshot({ snapshotId: handle, secrets }, options)
  },
  addedStatus: ({ creationTime, sizeBytes = 0n, groupSnapshotId = '' }, status) => ({
    ...(status?.hasCreationTime !== true && { creationTime: rawNumber(nanosecondsOf(creationTime)) }),
    ...(status?.hasRestoreSize !== true && sizeBytes > 0n && { restoreSize: rawNumber(sizeBytes) }),
    ...(status?.groupHandle === undefined && groupSnapshotId !== '' && { volumeGroupSnapshotHandle: groupSnapshotId }),
  }),
  clearedStatus: { snapshotHandle: null, readyToUse: null, creationTime: null, restoreSize: null },
  handleField: 'snapshotHandle',
}

export const GROUP: ContentKind = {
  resource: VOLUME_GROUP_SNAPSHOT_CONTENTS,
  classes: VOLUME_GROUP_SNAPSHOT_CLASSES,
  snapshots: VOLUME_GROUP_SNAPSHOTS,
  queue: 'csi-snapshotter-groupsnapshotcontent',
  metadataNames: GROUP_NAMES,
  texts: {
    snapshot: 'group snapshot',
    content: 'group snapshot content',
    snapshotContent: 'group snapshot content',
    credentials: 'group snapshot content',
    beingCreated: 'VolumeGroupSnapshotBeingCreated',
    wrapper: 'createGroupSnapshotWrapper',
    creation: 'createGroupSnapshot for groupSnapshotContent',
    check: 'checkandUpdateGroupSnapshotContentStatus',
    checkSecret: 'GroupSnapshotterGet',
  },
  eventReasons: {
    create: 'GroupSnapshotCreationFailed',
    check: 'GroupSnapshotContentCheckandUpdateFailed',
    delete: 'GroupSnapshotDeleteError',
    shared: 'GroupSnapshotShared',
    left: 'GroupSnapshotLeft',
  },
  prefix: 'volumegroupsnapshot',
  checkSecretPrefix: 'group-snapshotter-get-secret-',
  listsSnapshots: false,
  naming: ({ groupNaming }) => groupNaming,
  project: groupProjection,
  sourceText: ({ volumes }) => `the volumes [${volumes.join(' ')}]`,
  async create(calls, { volumes }, { name, parameters, secrets, ...options }) {
    const request = { name, sourceVolumeIds: [...volumes], parameters, secrets }
    const { groupSnapshot } = await calls.createGroupSnapshot(request, options)
    const group = requirePart(groupSnapshot, 'CreateVolumeGroupSnapshot without a group snapshot')
    const { groupSnapshotId: handle, readyToUse, creationTime, snapshots: members } = group
    return { handle, readyToUse, creationTime, members }
  },
  async check(calls, { key, status, preProvisioned }, { secrets, ...options }) {
    const snapshotIds = [...(preProvisioned?.members ?? [])]
    if (snapshotIds.length === 0) {
      throw new NotSentError(`cannot list group snapshot ${key}. No snapshots found in the group snapshot content`)
    }
    const groupSnapshotId = status?.handle ?? preProvisioned?.handle ?? ''
    const { groupSnapshot } = await calls.getGroupSnapshot({ groupSnapshotId, snapshotIds, secrets }, options)
    const group = requirePart(groupSnapshot, 'GetVolumeGroupSnapshot without a group snapshot')
    const { readyToUse, creationTime } = group
    return { handle: preProvisioned?.handle ?? groupSnapshotId, readyToUse, creationTime }
  },
  async delete(calls, { content, handle, members }, { secrets, ...options }) {
    if (members.length === 0) {
      const why = 'No snapshots found in the group snapshot'
      throw new NotSentError(`cannot delete group snapshot content ${content.key}. ${why}`)
    }
    await calls.deleteGroupSnapshot({ groupSnapshotId: handle, snapshotIds: [...members], secrets }, options)
  },
  addedStatus: ({ creationTime, members = [] }, status) => ({
    ...(status?.hasCreationTime !== true && {
      creationTime: rfc3339(Number(nanosecondsOf(creationTime) / 1_000_000n)),
    }),
    ...((status?.members ?? []).length === 0 &&
      members.length > 0 && { volumeSnapshotInfoList: members.map(memberStatus) }),
  }),
  clearedStatus: { volumeGroupSnapshotHandle: null, readyToUse: null, creationTime: null, error: null },
  handleField: 'volumeGroupSnapshotHandle',
}

function requirePart<T>(part: T | undefined, problem: string): T {
  if (part === undefined) throw new Error(`the driver answered ${problem}`)
  return part
}

/** Returns the entry of a member snapshot in the status of its VolumeGroupSnapshotContent. */
function memberStatus({ sourceVolumeId, snapshotId, creationTime, readyToUse, sizeBytes }: Snapshot): object {
  return {
    ...(sourceVolumeId !== '' && { volumeHandle: sourceVolumeId }),
    ...(snapshotId !== '' && { snapshotHandle: snapshotId }),
    ...(creationTime !== undefined && { creationTime: rawNumber(nanosecondsOf(creationTime)) }),
    readyToUse,
    ...(sizeBytes !== 0n && { restoreSize: rawNumber(sizeBytes) }),
  }
}

/** Returns nanoseconds since 1970. A missing time counts as 1970, as in the Go snapshotter. */
function nanosecondsOf(time: Timestamp | undefined): bigint {
  return time === undefined ? 0n : time.seconds * 1_000_000_000n + BigInt(time.nanos)
}

/**
 * Returns an integer that JSON prints with all digits. Nanoseconds are too large for a JavaScript number. Keeps the
 * lowest 64 bits, as the Go snapshotter does, because the API server refuses longer numbers.
 */
function rawNumber(value: bigint): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(BigInt.asIntN(64, value)))
}

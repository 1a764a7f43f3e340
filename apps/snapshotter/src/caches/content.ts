import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import { type Cached, Interner } from '@csi-sidecars/informer'
import type {
  KubeObject,
  VolumeGroupSnapshotContent,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import { type ContentNames, GROUP_NAMES, MEMBER_ANNOTATION, SNAPSHOT_NAMES } from './names.ts'

/** The handles of a pre-provisioned snapshot or group snapshot, which already exists in the driver. */
export interface PreProvisionedSnapshot {
  readonly handle: string
  /** The handles of the snapshots of a group. Empty for a single snapshot. */
  readonly members: readonly string[]
}

/** The cached fields of the status of a VolumeSnapshotContent or a VolumeGroupSnapshotContent. */
export interface ContentStatus {
  readonly handle: string | undefined
  /** The handle of the group snapshot. Undefined if this snapshot is no member. */
  readonly groupHandle: string | undefined
  readonly ready: boolean | undefined
  readonly hasCreationTime: boolean
  readonly hasRestoreSize: boolean
  readonly hasError: boolean
  readonly errorMessage: string | undefined
  /** The handles of the member snapshots of a group. */
  readonly members: readonly string[]
}

/** The cached part of a VolumeSnapshotContent or a VolumeGroupSnapshotContent of this driver. */
export interface Content extends Cached {
  /** The handles of the source volumes. Empty for a pre-provisioned snapshot. */
  readonly volumes: readonly string[]
  readonly preProvisioned: PreProvisionedSnapshot | undefined
  readonly className: string | undefined
  /** The deletion policy: `Delete` or `Retain`. */
  readonly policy: string
  readonly refNamespace: string
  readonly refName: string
  readonly refUid: string
  /** The deletion timestamp, in seconds since 1970. Undefined if it has none. */
  readonly deletedSeconds: number | undefined
  readonly finalizers: readonly string[]
  readonly beingCreated: boolean
  readonly beingDeleted: boolean
  /** The annotation with the values in the parameters of the creation, if any. */
  readonly parameterValues: string | undefined
  /** The annotation with the name of the Secret for calls, if any. */
  readonly secretName: string | undefined
  readonly secretNamespace: string | undefined
  /** The handle of the group snapshot, from an annotation. Undefined if the snapshot is not in a group. */
  readonly memberOf: string | undefined
  readonly status: ContentStatus | undefined
  /** The number `metadata.generation`, which grows with each change of the spec. */
  readonly generation: number
  /** All labels, owners and other clients' annotations as one text, to detect changes. */
  readonly otherMetadata: string
  /** The creation timestamp, in seconds since 1970. */
  readonly createdSeconds: number | undefined
}

/** The cached part of a VolumeSnapshotClass or a VolumeGroupSnapshotClass of any driver. */
export interface SnapshotClass extends Cached {
  readonly driver: string
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * Returns the handle in the spec of a pre-provisioned snapshot. Undefined if the snapshot was deleted, which a status
 * without `readyToUse` shows.
 */
export function unclearedHandle({ preProvisioned, status }: Content): string | undefined {
  return status !== undefined && status.ready === undefined ? undefined : preProvisioned?.handle
}

/** The name of the index of contents by the handles of their snapshots. */
export const BY_HANDLE = 'handle'

function handlesOf(content: Content): readonly string[] {
  const { handle } = content.status ?? {}
  const inSpec = unclearedHandle(content)
  return [handle, inSpec === handle ? undefined : inSpec].filter((each) => each !== undefined)
}

export const CONTENT_INDEXES = { [BY_HANDLE]: handlesOf }

const NO_TEXTS: readonly string[] = []

/** Caches only the VolumeSnapshotContents of this driver. */
export function snapshotProjection(driverName: string) {
  return (object: KubeObject, intern = new Interner()): Content | undefined => {
    const { metadata, spec, status } = object as VolumeSnapshotContent
    if (spec?.driver !== driverName) return undefined
    const { volumeHandle, snapshotHandle } = spec.source ?? {}
    return {
      ...common(metadata, SNAPSHOT_NAMES, intern),
      volumes: volumeHandle == null ? NO_TEXTS : [volumeHandle],
      preProvisioned: snapshotHandle == null ? undefined : { handle: snapshotHandle, members: NO_TEXTS },
      className: intern.text(spec.volumeSnapshotClassName ?? undefined),
      policy: intern.text(spec.deletionPolicy ?? ''),
      ...refOf(spec.volumeSnapshotRef, intern),
      memberOf: metadata?.annotations?.[MEMBER_ANNOTATION],
      status:
        status == null
          ? undefined
          : {
              ...commonStatus(status),
              handle: status.snapshotHandle ?? undefined,
              groupHandle: intern.text(status.volumeGroupSnapshotHandle ?? undefined),
              hasRestoreSize: status.restoreSize != null,
              members: NO_TEXTS,
            },
    }
  }
}

/** Caches only the VolumeGroupSnapshotContents of this driver. */
export function groupProjection(driverName: string) {
  return (object: KubeObject, intern = new Interner()): Content | undefined => {
    const { metadata, spec, status } = object as VolumeGroupSnapshotContent
    if (spec?.driver !== driverName) return undefined
    const { volumeHandles, groupSnapshotHandles: groupHandles } = spec.source ?? {}
    return {
      ...common(metadata, GROUP_NAMES, intern),
      volumes: volumeHandles ?? NO_TEXTS,
      preProvisioned:
        groupHandles == null
          ? undefined
          : {
              handle: groupHandles.volumeGroupSnapshotHandle ?? '',
              members: groupHandles.volumeSnapshotHandles ?? NO_TEXTS,
            },
      className: intern.text(spec.volumeGroupSnapshotClassName ?? undefined),
      policy: intern.text(spec.deletionPolicy ?? ''),
      ...refOf(spec.volumeGroupSnapshotRef, intern),
      memberOf: undefined,
      status:
        status == null
          ? undefined
          : {
              ...commonStatus(status),
              handle: status.volumeGroupSnapshotHandle ?? undefined,
              groupHandle: undefined,
              hasRestoreSize: true,
              members: (status.volumeSnapshotInfoList ?? []).map(({ snapshotHandle = '' }) => snapshotHandle),
            },
    }
  }
}

function common(metadata: KubeObject['metadata'], names: ContentNames, intern: Interner) {
  const { name = '', resourceVersion = '', uid = '', annotations = {}, generation, creationTimestamp } = metadata ?? {}
  const { [names.beingCreated]: beingCreated, [PARAMETER_VALUES]: parameterValues, ...others } = annotations
  return {
    key: name,
    resourceVersion,
    uid,
    deletedSeconds: secondsOf(metadata?.deletionTimestamp),
    finalizers: metadata?.finalizers?.map((each) => intern.text(each)) ?? NO_TEXTS,
    beingCreated: beingCreated !== undefined,
    beingDeleted: annotations[names.beingDeleted] !== undefined,
    parameterValues,
    secretName: intern.text(annotations[names.secretName]),
    secretNamespace: intern.text(annotations[names.secretNamespace]),
    generation: generation ?? 0,
    otherMetadata: intern.text(JSON.stringify([metadata?.labels, metadata?.ownerReferences, others])),
    createdSeconds: secondsOf(creationTimestamp),
  }
}

function secondsOf(time: string | null | undefined): number | undefined {
  return time == null ? undefined : Date.parse(time) / 1000
}

function commonStatus(status: NonNullable<(VolumeSnapshotContent | VolumeGroupSnapshotContent)['status']>) {
  return {
    ready: status.readyToUse ?? undefined,
    hasCreationTime: status.creationTime != null,
    hasError: status.error != null,
    errorMessage: status.error?.message ?? undefined,
  }
}

function refOf(
  ref: { namespace?: string | undefined; name?: string | undefined; uid?: string | undefined } = {},
  intern: Interner,
) {
  return { refNamespace: intern.text(ref.namespace ?? ''), refName: ref.name ?? '', refUid: ref.uid ?? '' }
}

export function projectClass(object: KubeObject): SnapshotClass {
  const { metadata, driver, parameters = {} } = object as VolumeSnapshotClass
  const { name = '', resourceVersion = '', uid = '' } = metadata ?? {}
  return { key: name, resourceVersion, uid, driver, parameters }
}

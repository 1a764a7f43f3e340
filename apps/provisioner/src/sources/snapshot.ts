import { messageOf } from '@csi-sidecars/base'
import type { VolumeContentSource } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import {
  namespacedRef,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import { goQuote } from '@csi-sidecars/telemetry'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { ALLOW_MODE_CHANGE, SNAPSHOT_FINALIZER } from '../caches/names.ts'
import { bytesOf } from '../request/request.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'
import { type ClaimSource, sourceError } from './data-source.ts'

/** A claim whose volume is restored from a VolumeSnapshot. */
export interface RestoreRequest {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly source: ClaimSource
  readonly preventModeConversion: boolean
}

/** A checked restore. */
export interface RestoreSource {
  readonly content: VolumeContentSource
  readonly snapshot: VolumeSnapshot
}

/** Reads the snapshot that a volume is restored from, and checks it. Throws ProvisionError. */
export async function snapshotSource(
  restore: RestoreRequest,
  api: Pick<KubeClient, 'get'>,
  signal: AbortSignal,
): Promise<RestoreSource> {
  const { source } = restore
  const { namespace, name } = source
  const snapshot = await api.get(VOLUME_SNAPSHOTS, { namespace, name }, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted()
    throw sourceError(source, `error getting snapshot ${name} from api server: ${messageOf(cause)}`, { cause })
  })
  const contentName = boundContentName(restore, snapshot)
  const waitsFor: readonly ClaimWakeEvent[] = [{ kind: 'snapshotContent', name: contentName }]
  const content = await api.get(VOLUME_SNAPSHOT_CONTENTS, { name: contentName }, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted()
    throw sourceError(source, `error getting snapshotcontent ${contentName} for snapshot ${name}`, { cause, waitsFor })
  })
  const why = whyUnusable(restore, snapshot, content)
  if (why !== undefined) throw sourceError(source, why, { waitsFor })
  const snapshotId = content.status?.snapshotHandle ?? ''
  return { snapshot, content: { type: { $case: 'snapshot', value: { snapshotId } } } }
}

function boundContentName({ source }: RestoreRequest, { metadata, status }: VolumeSnapshot): string {
  const isProtected = metadata?.finalizers?.includes(SNAPSHOT_FINALIZER) === true
  // Our finalizer shows that the restore began before the snapshot was deleted. The restore must be finished.
  if (metadata?.deletionTimestamp != null && !isProtected) {
    throw sourceError(source, `snapshot ${source.name} is being deleted`)
  }
  const contentName = status?.boundVolumeSnapshotContentName
  if (contentName == null) throw sourceError(source, `snapshot ${source.name} not bound`)
  return contentName
}

/** Returns the reason why the snapshot cannot be restored, from the first check that fails. */
export function whyUnusable(
  restore: RestoreRequest,
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): string | undefined {
  const { class: storageClass, source } = restore
  const { name } = source
  const contentText = `snapshotcontent ${content.metadata?.name ?? ''} for snapshot ${name}`
  const { volumeSnapshotRef: ref, driver } = content.spec
  const { uid, namespace } = snapshot.metadata ?? {}
  if (ref.uid !== uid || ref.namespace !== namespace || ref.name !== snapshot.metadata?.name) {
    return `${contentText} is bound to a different snapshot`
  }
  if (driver !== storageClass.provisioner)
    return `${contentText} is not handled by CSI driver of StorageClass ${storageClass.key}`
  if (snapshot.status?.readyToUse !== true) return `snapshot ${name} is not Ready`
  if (content.status?.snapshotHandle == null) return `snapshot handle ${name} is not available`
  const { requested, size } = sizesOf(restore, snapshot)
  if (size !== undefined && requested < size) {
    return `requested volume size ${requested} is less than the size ${size} for the source snapshot ${name}`
  }
  return whyModeIsRefused(restore, content)
}

/** Returns a warning if the driver must expand the restored volume. */
export function expansionNotice(restore: RestoreRequest, snapshot: VolumeSnapshot): string | undefined {
  const { requested, size } = sizesOf(restore, snapshot)
  if (size === undefined || requested <= size) return undefined
  const { name } = restore.source
  const notice = `requested volume size ${requested} is greater than the size ${size} for the source snapshot ${name}`
  return `${notice}. Volume plugin needs to handle volume expansion.`
}

/** Returns the sizes of the claim and of the snapshot in bytes. The size of a snapshot may be unknown. */
function sizesOf(
  { claim }: RestoreRequest,
  { status }: VolumeSnapshot,
): { requested: bigint; size: bigint | undefined } {
  const size = status?.restoreSize == null ? undefined : bytesOf(String(status.restoreSize))
  return { requested: bytesOf(claim.size), size }
}

/** Returns an error text if the volume mode changes without permission, for example from file system to block. */
function whyModeIsRefused(
  { claim, preventModeConversion }: RestoreRequest,
  { metadata, spec }: VolumeSnapshotContent,
): string | undefined {
  const [from, to] = [spec.sourceVolumeMode, claim.requestedVolume?.volumeMode]
  if (!preventModeConversion || from == null || to === undefined || from === to) return undefined
  const { namespace, name } = namespacedRef(claim.key)
  const why = `requested volume ${namespace}/${name} modifies the mode of the source volume but does not have permission to do so.`
  const allowed = metadata?.annotations?.[ALLOW_MODE_CHANGE]
  const contentName = metadata?.name ?? ''
  if (allowed === undefined)
    return `${why} ${ALLOW_MODE_CHANGE} annotation is not present on snapshotcontent ${contentName}`
  if (TRUE.has(allowed)) return undefined
  if (FALSE.has(allowed)) return `${why} ${ALLOW_MODE_CHANGE} is set to false on snapshotcontent ${contentName}`
  const error = `strconv.ParseBool: parsing ${goQuote(allowed)}: invalid syntax`
  return `${why} failed to convert ${ALLOW_MODE_CHANGE} annotation value to boolean with error: ${error}`
}

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

import {
  type ClaimContext,
  foreignFinalizers,
  isTerminated,
  OWN_FINALIZERS,
  PROVISIONER_FINALIZERS,
  type VolumeState,
} from './claim-context.ts'
import { detaching, UNMOUNT } from './pod.ts'
import { failingOr, type ObjectWait, type WaitOf } from './wait.ts'

/** Returns why a volume that is being detached or deleted waits. */
export function volumeWaits(context: ClaimContext): readonly ObjectWait[] {
  const { volume } = context
  const object = { kind: 'volume', name: volume?.key ?? '' } as const
  if (volume === undefined) return leaving(context)
  const reclaimed = reclaim(volume, context)
  // If the volume waits for the provisioner, the provisioner's finalizer is not listed as a separate reason.
  const others = deletion(volume, context).filter(
    ({ names }) => reclaimed.length === 0 || !names?.every((each) => each.startsWith(PROVISIONER_FINALIZERS)),
  )
  return [...leaving(context), ...[...others, ...reclaimed].map((wait) => ({ ...wait, object }))]
}

/** Returns why attachments that no pod needs still exist. */
function leaving(context: ClaimContext): readonly ObjectWait[] {
  const { volume, attachments, pods, failing, nameOnNodes } = context
  return attachments.flatMap((attachment): ObjectWait[] => {
    const { nodeName: node, deleting } = attachment
    if (pods.some((pod) => pod.nodeName === node && !isTerminated(pod))) return []
    const object = { kind: 'volume', name: volume?.key ?? '', node } as const
    if (deleting) return [{ ...detaching(attachment, context, 'Detaching'), object }]
    const on = `kubelet/${node}` as const
    const failed = failing(on, ...UNMOUNT)
    if (failed !== undefined) return [{ reason: 'UnmountFails', on, node, object, message: failed }]
    const isInUse = nameOnNodes !== undefined && context.node(node)?.volumesInUse.includes(nameOnNodes) === true
    if (isInUse) return [{ reason: 'Unmounting', on, node, object }]
    return [{ reason: 'DetachNotAskedFor', on: 'attach-detach', node, object }]
  })
}

/** Returns why a PersistentVolume that is being deleted still exists. */
function deletion({ deleting, finalizers = [], phase }: VolumeState, { attachments }: ClaimContext): readonly WaitOf[] {
  if (!deleting) return []
  const found: WaitOf[] = []
  const foreign = foreignFinalizers(finalizers)
  if (foreign.length > 0) found.push({ reason: 'ForeignFinalizer', on: 'you', names: foreign })
  if (finalizers.some((name) => name.startsWith(OWN_FINALIZERS))) {
    found.push({ reason: 'VolumeStillAttached', on: 'csi-attacher', names: attachments.map(({ key }) => key) })
  }
  const isProtected = finalizers.includes('kubernetes.io/pv-protection')
  if (isProtected && phase === 'Bound') found.push({ reason: 'VolumeBound', on: 'you' })
  return found
}

/** Returns why a volume still exists although its claim is gone. */
function reclaim(volume: VolumeState, { claim, attachments, failing }: ClaimContext): readonly WaitOf[] {
  const { phase, reclaimPolicy } = volume
  if (claim !== undefined || (phase !== 'Released' && phase !== 'Failed')) return []
  if (reclaimPolicy === 'Retain') return [{ reason: 'VolumeRetained', on: 'you' }]
  const on = 'csi-provisioner'
  const names = attachments.map(({ key }) => key)
  if (names.length > 0) return volume.deleting ? [] : [{ reason: 'VolumeStillAttached', on, names }]
  const otherwise: WaitOf = { reason: phase === 'Failed' ? 'DeletionFailed' : 'VolumeDeleting', on }
  return [failingOr(failing(on, 'DeleteVolume'), 'DeleteFails', otherwise)]
}

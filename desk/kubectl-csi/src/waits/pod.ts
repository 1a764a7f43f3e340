import {
  type ClaimContext,
  isTerminated,
  type PodState,
  type VolumeState,
  type WaitingAttachment,
} from './claim-context.ts'
import { failingOr, type ObjectWait, type WaitOf, withMessage } from './wait.ts'

/** Returns why a pod waits because of one claim. Undefined if the pod runs or has ended. */
export function podWait(pod: PodState, context: ClaimContext): ObjectWait | undefined {
  const wait = pod.deleting ? leaving(pod, context) : arriving(pod, context)
  return wait && { ...wait, object: { kind: 'pod', name: pod.name } }
}

function leaving({ nodeName }: PodState, context: ClaimContext): WaitOf {
  const on = nodeName === '' ? 'you' : (`kubelet/${nodeName}` as const)
  const wait: WaitOf = { reason: 'PodEnding', on, node: nodeName }
  return down(nodeName, context) ?? failingOr(context.failing(on, ...UNMOUNT), 'UnmountFails', wait)
}

export const UNMOUNT = ['NodeUnpublishVolume', 'NodeUnstageVolume'] as const

/** Returns the reason to wait if the node is missing or not ready, because its kubelet then does nothing. */
function down(name: string, { node, nodeGone }: ClaimContext): WaitOf | undefined {
  if (nodeGone?.(name) === true) return { reason: 'NodeGone', on: 'you', node: name }
  return node(name)?.ready === false ? { reason: 'NodeNotReady', on: `kubelet/${name}`, node: name } : undefined
}

function arriving(pod: PodState, context: ClaimContext): WaitOf | undefined {
  if (pod.phase !== 'Pending' || isTerminated(pod)) return undefined
  return (
    missing(context) ??
    placing(pod, context) ??
    claiming(pod, context) ??
    attaching(pod, context) ??
    mounting(pod, context)
  )
}

function missing({ claim, claimKey }: ClaimContext): WaitOf | undefined {
  return claim !== undefined || claimKey === undefined ? undefined : { reason: 'ClaimMissing', on: 'you' }
}

function placing(
  { key, nodeName }: PodState,
  { claim, binding, storageClass, warning }: ClaimContext,
): WaitOf | undefined {
  if (nodeName !== '') return undefined
  const on = 'scheduler'
  const message = warning(key, 'FailedScheduling')
  // A claim that itself waits for the pod to be scheduled is no reason for the pod to wait.
  const afterPod =
    binding?.reason === 'WaitForPodScheduled' || (storageClass?.kind === 'present' && storageClass.waitsForPod)
  const lacks = claim !== undefined && claim.volumeName === '' && !afterPod
  if (lacks) return withMessage({ reason: 'PodWithoutVolume', on }, message)
  return failingOr(message, 'NoNodeFits', { reason: 'NotScheduled', on })
}

function claiming({ nodeName }: PodState, { claim, volume, volumeGone }: ClaimContext): WaitOf | undefined {
  if (claim === undefined || (claim.phase === 'Bound' && (volume !== undefined || volumeGone === false))) {
    return undefined
  }
  return { reason: claim.phase === 'Lost' ? 'PodLostVolume' : 'PodWithoutVolume', on: `kubelet/${nodeName}` }
}

/** Returns why a pod waits for an attach. The wait ends when the status of the Node lists the volume. */
function attaching(pod: PodState, context: ClaimContext): WaitOf | undefined {
  const { nodeName: node } = pod
  const { volume, attachments, attaches, failing, nameOnNodes } = context
  if (volume === undefined || !attaches) return undefined
  const here = attachments.find((each) => each.nodeName === node)
  if (here === undefined) {
    return elsewhere(volume, pod, context) ?? { reason: 'NotAskedFor', on: 'attach-detach', node }
  }
  if (here.deleting) return detaching(here, context, 'DetachedHereFirst')
  const on = 'csi-attacher'
  if (!here.attached) {
    const wait = failingOr(here.attachError, 'CannotAttach', { reason: 'Attaching', on, node })
    return failingOr(failing(on, 'ControllerPublishVolume'), 'AttachFails', wait)
  }
  const reported = context.node(node)?.volumesAttached
  if (nameOnNodes === undefined || reported === undefined) return undefined
  const isReported = reported.some(({ name }) => name === nameOnNodes)
  return isReported ? undefined : { reason: 'NotReported', on: 'attach-detach', node }
}

/** Returns why a pod waits for another node: a volume for a single node must first be detached from that node. */
function elsewhere(
  { accessModes }: VolumeState,
  { key, nodeName }: PodState,
  context: ClaimContext,
): WaitOf | undefined {
  const other = context.attachments.find((each) => each.nodeName !== nodeName)
  const shared = accessModes.includes('ReadWriteMany') || accessModes.includes('ReadOnlyMany')
  if (other === undefined || shared) return undefined
  if (other.deleting) return detaching(other, context, 'DetachedElsewhereFirst')
  const node = other.nodeName
  const users = context.pods.filter((each) => each.nodeName === node && !isTerminated(each))
  const names = users.map(({ name }) => name)
  if (users.every(({ deleting }) => deleting)) {
    const wait = down(node, context) ?? ({ reason: 'UnmountedElsewhereFirst', on: `kubelet/${node}`, node } as const)
    return { ...wait, names }
  }
  const wait: WaitOf = { reason: 'MultiAttach', on: 'attach-detach', node, names }
  return withMessage(wait, context.warning(key, 'FailedAttachVolume'))
}

/** Returns why an object waits for a detach: it is running, or it fails. */
export function detaching(
  { detachError, nodeName: node }: WaitingAttachment,
  { failing }: ClaimContext,
  reason: WaitOf['reason'],
): WaitOf {
  const on = 'csi-attacher'
  const failed = failing(on, 'ControllerUnpublishVolume') ?? detachError
  return failingOr(failed, 'DetachFails', { reason, on, node })
}

function mounting({ key, nodeName: node }: PodState, context: ClaimContext): WaitOf {
  const on = `kubelet/${node}` as const
  const failed = context.failing(on, 'NodeStageVolume', 'NodePublishVolume')
  if (failed !== undefined) return { reason: 'MountPending', on, node, message: failed }
  return down(node, context) ?? withMessage({ reason: 'Mounting', on, node }, context.warning(key, ...MOUNT_WARNINGS))
}

const MOUNT_WARNINGS = ['FailedMount', 'FailedMapVolume'] as const

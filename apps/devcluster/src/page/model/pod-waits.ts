import type { Attachment } from '../../caches/attachment.ts'
import { type CachedPod, isTerminated } from '../../caches/pod.ts'
import type { Volume } from '../../caches/volume.ts'
import { uniqueVolumeName } from '../../volume-names.ts'
import { kubeletOf } from './actors.ts'
import { failing } from './claim-waits.ts'
import type { RowView, WaitNow } from './view.ts'

type Reason = Omit<WaitNow, 'about'>

/** What a pod waits for because of the row's claim; undefined when it runs, or has ended. */
export function podWait(pod: CachedPod, view: RowView): WaitNow | undefined {
  const reason = pod.deleting ? leaving(pod, view) : arriving(pod, view)
  return reason && { ...reason, about: `pod ${pod.name}` }
}

function leaving({ nodeName }: CachedPod, { failure }: RowView): Reason {
  const who = nodeName === '' ? 'you' : kubeletOf(nodeName)
  const failed = failure(who, 'NodeUnpublishVolume', 'NodeUnstageVolume')
  if (failed !== undefined) return { who, ...failing(failed, 'the volume is not unmounted') }
  return { who, level: 'works', why: 'ends it and unmounts its volume' }
}

function arriving(pod: CachedPod, view: RowView): Reason | undefined {
  if (pod.phase !== 'Pending' || isTerminated(pod)) return undefined
  return missing(view) ?? placing(pod, view) ?? claiming(pod, view) ?? attaching(pod, view) ?? mounting(pod, view)
}

function missing({ claim, claimKey }: RowView): Reason | undefined {
  if (claim !== undefined || claimKey === undefined) return undefined
  return { who: 'you', level: 'trouble', why: `claim ${claimKey} does not exist` }
}

function placing({ key, nodeName }: CachedPod, view: RowView): Reason | undefined {
  if (nodeName !== '') return undefined
  const message = view.warning(key, 'FailedScheduling')
  // The claim's own wait says why it has no volume.
  if (view.claim !== undefined && view.claim.volumeName === '' && view.binding?.reason !== 'WaitForPodScheduled')
    return {
      who: 'scheduler',
      level: 'waits',
      why: `claim ${view.claim.name} has no volume yet`,
      ...(message && { message }),
    }
  if (message === undefined) return { who: 'scheduler', level: 'works', why: 'chooses a node for it' }
  return { who: 'scheduler', level: 'trouble', why: 'no node will do', message }
}

function claiming({ nodeName }: CachedPod, { claim, volume }: RowView): Reason | undefined {
  if (claim === undefined) return undefined
  if (claim.phase === 'Bound' && volume !== undefined) return undefined
  if (claim.phase === 'Lost')
    return { who: kubeletOf(nodeName), level: 'trouble', why: `claim ${claim.name} has lost its volume` }
  return { who: kubeletOf(nodeName), level: 'waits', why: `claim ${claim.name} has no volume yet` }
}

/** From the request for the attachment to the node's report that it is attached. */
function attaching(pod: CachedPod, view: RowView): Reason | undefined {
  const { nodeName } = pod
  const { volume, attachments, attaches, failure } = view
  if (volume?.csi === undefined || !attaches) return undefined
  const here = attachments.find((each) => each.nodeName === nodeName)
  if (here === undefined) return elsewhere(volume, pod, view) ?? asked(nodeName)
  if (here.deleting) return detaching(here, view, 'an earlier attachment to this node has to end first')
  if (!here.attached) {
    const failed = failure('csi-attacher', 'ControllerPublishVolume')
    if (failed !== undefined)
      return { who: 'csi-attacher', ...failing(failed, `the driver does not attach the volume to ${nodeName}`) }
    if (here.attachError !== undefined)
      return {
        who: 'csi-attacher',
        level: 'trouble',
        why: `the volume cannot be attached to ${nodeName}`,
        message: here.attachError,
      }
    return { who: 'csi-attacher', level: 'works', why: `attaches the volume to ${nodeName}` }
  }
  const name = uniqueVolumeName(volume.csi)
  const isReported = view.node(nodeName)?.volumesAttached.some((each) => each.name === name) === true
  return isReported
    ? undefined
    : { who: 'attach-detach', level: 'works', why: `reports on ${nodeName} that the volume is attached` }
}

function asked(nodeName: string): Reason {
  return { who: 'attach-detach', level: 'works', why: `asks for the volume on ${nodeName}` }
}

/** A volume for one node is attached to no second one before it is detached from the first. */
function elsewhere({ accessModes }: Volume, { key, nodeName }: CachedPod, view: RowView): Reason | undefined {
  const other = view.attachments.find((each) => each.nodeName !== nodeName)
  const shared = accessModes.includes('ReadWriteMany') || accessModes.includes('ReadOnlyMany')
  if (other === undefined || shared) return undefined
  if (other.deleting) return detaching(other, view, `the volume is detached from ${other.nodeName} first`)
  const users = view.pods.filter((each) => each.nodeName === other.nodeName && !isTerminated(each))
  if (users.length === 0 || users.every(({ deleting }) => deleting)) {
    return { who: kubeletOf(other.nodeName), level: 'works', why: `unmounts the volume on ${other.nodeName} first` }
  }
  const pods = users.map(({ name }) => name).join(', ')
  const why = `Multi-Attach: the volume is for one node at a time, and pod ${pods} uses it on ${other.nodeName}`
  const message = view.warning(key, 'FailedAttachVolume')
  return { who: 'attach-detach', level: 'trouble', why, ...(message && { message }) }
}

/** A detach that is under way, or fails. */
export function detaching({ detachError, nodeName }: Attachment, { failure }: RowView, why: string): Reason {
  const failed = failure('csi-attacher', 'ControllerUnpublishVolume')
  const fails = `the driver does not detach the volume from ${nodeName}`
  if (failed !== undefined) return { who: 'csi-attacher', ...failing(failed, fails) }
  if (detachError !== undefined) return { who: 'csi-attacher', level: 'trouble', why: fails, message: detachError }
  return { who: 'csi-attacher', level: 'works', why }
}

function mounting({ key, nodeName }: CachedPod, view: RowView): Reason {
  const who = kubeletOf(nodeName)
  const failed = view.failure(who, 'NodeStageVolume', 'NodePublishVolume')
  if (failed !== undefined) return { who, ...failing(failed, `the driver does not mount the volume on ${nodeName}`) }
  const message = view.warning(key, 'FailedMount', 'FailedMapVolume')
  if (view.node(nodeName)?.ready === false) return { who, level: 'trouble', why: `${nodeName} is not ready` }
  return { who, level: 'works', why: `mounts the volume on ${nodeName}`, ...(message && { message }) }
}

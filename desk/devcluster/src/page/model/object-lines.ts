import {
  type Attachment,
  type CachedContent,
  type CachedNode,
  type CachedPod,
  type CachedSnapshot,
  type Claim,
  csiVolumeOf,
  PROVISIONED_BY,
  SELECTED_NODE,
  type Volume,
} from '@csi-sidecars/volume-controllers'
import type { ObjectEvent } from '../../story/cluster-event.ts'
import { short } from '../../story/expectation.ts'
import type { TimelineEntry } from '../view/wire.ts'
import { kubeletOf } from './actors.ts'

/** Returns the time-line entry for a change of an object, with its actor. Undefined for an irrelevant change. */
export function objectLine(event: ObjectEvent): TimelineEntry | undefined {
  switch (event.kind) {
    case 'claim':
      return claimLine(event.before, event.after)
    case 'volume':
      return volumeLine(event.before, event.after)
    case 'pod':
      return podLine(event.before, event.after)
    case 'attachment':
      return attachmentLine(event.before, event.after)
    case 'node':
      return nodeLine(event.before, event.after)
    case 'snapshot':
      return snapshotLine(event.before, event.after)
    case 'content':
      return contentLine(event.before, event.after)
  }
}

function claimLine(before: Claim | undefined, after: Claim | undefined): TimelineEntry | undefined {
  if (after === undefined) return before && { who: 'persistent-volume', text: `claim ${before.name} gone` }
  const { name } = after
  if (before === undefined) {
    const of = after.className ? ` of class ${after.className}` : ''
    return { who: 'you', text: `claim ${name} created: ${after.request}${of}` }
  }
  if (!before.deleting && after.deleting) return { who: 'you', text: `claim ${name} deleted` }
  if (before.phase !== after.phase) return phaseLine(after)
  if (before.request !== after.request) return { who: 'you', text: `claim ${name} asks for ${after.request}` }
  if (before.attributesClass !== after.attributesClass)
    return { who: 'you', text: `claim ${name} asks for class ${after.attributesClass}` }
  const node = after.annotations[SELECTED_NODE]
  if (node !== before.annotations[SELECTED_NODE] && node !== undefined)
    return { who: 'scheduler', text: `claim ${name} is to be provisioned for ${node}` }
  return sizeLine(before, after)
}

function phaseLine({ name, phase, volumeName }: Claim): TimelineEntry {
  const text = `claim ${name} ${phase}${phase === 'Bound' ? ` to ${short(volumeName)}` : ''}`
  return { who: 'persistent-volume', text, ...(phase === 'Lost' && { bad: true }) }
}

/** Returns the line about a change of a claim's size, resize status or VolumeAttributesClass. */
function sizeLine(before: Claim, after: Claim): TimelineEntry | undefined {
  const { name, capacity, resizeStatus, currentAttributesClass } = after
  const byNode = before.resizeStatus?.startsWith('Node') === true
  if (before.capacity !== capacity)
    return { who: byNode ? 'kubelet' : 'csi-resizer', text: `claim ${name} has ${capacity}` }
  if (before.resizeStatus !== resizeStatus && resizeStatus !== undefined) {
    const bad = resizeStatus.endsWith('Infeasible')
    const who =
      resizeStatus === 'NodeResizeInProgress' || resizeStatus === 'NodeResizeInfeasible' ? 'kubelet' : 'csi-resizer'
    return { who, text: `claim ${name} ${resizeStatus}`, ...(bad && { bad }) }
  }
  if (before.currentAttributesClass === currentAttributesClass || currentAttributesClass === undefined) return undefined
  return { who: 'csi-resizer', text: `claim ${name} is of class ${currentAttributesClass}` }
}

function volumeLine(before: Volume | undefined, after: Volume | undefined): TimelineEntry | undefined {
  const claim = after ?? before
  if (claim === undefined) return undefined
  const { key, annotations, capacity, phase, attributesClass } = claim
  const creator = PROVISIONED_BY in annotations ? 'csi-provisioner' : 'you'
  const name = `PersistentVolume ${short(key)}`
  if (after === undefined) return { who: creator, text: `${name} gone` }
  if (before === undefined) return { who: creator, text: `${name} of ${capacity} created` }
  if (before.phase !== phase)
    return { who: 'persistent-volume', text: `${name} ${phase}`, ...(phase === 'Failed' && { bad: true }) }
  if (before.capacity !== capacity) return { who: 'csi-resizer', text: `${name} has ${capacity}` }
  if (before.attributesClass !== attributesClass)
    return { who: 'csi-resizer', text: `${name} is of class ${attributesClass}` }
  return undefined
}

function podLine(before: CachedPod | undefined, after: CachedPod | undefined): TimelineEntry | undefined {
  const pod = after ?? before
  if (pod === undefined) return undefined
  const { name, nodeName, phase } = pod
  const kubelet = nodeName === '' ? 'you' : kubeletOf(nodeName)
  if (after === undefined) return { who: kubelet, text: `pod ${name} gone` }
  if (before === undefined)
    return { who: 'you', text: `pod ${name} created${nodeName === '' ? '' : ` for ${nodeName}`}` }
  if (before.nodeName !== nodeName) return { who: 'scheduler', text: `pod ${name} scheduled to ${nodeName}` }
  if (!before.deleting && after.deleting) return { who: 'you', text: `pod ${name} deleted` }
  return before.phase === phase ? undefined : { who: kubelet, text: `pod ${name} ${phase}` }
}

function attachmentLine(before: Attachment | undefined, after: Attachment | undefined): TimelineEntry | undefined {
  const attachment = after ?? before
  if (attachment === undefined) return undefined
  const volumeName = `${short(attachment.pvName ?? 'the volume')}`
  const { nodeName, attachError, detachError } = attachment
  if (after === undefined) return { who: 'csi-attacher', text: `VolumeAttachment of ${volumeName} to ${nodeName} gone` }
  if (before === undefined)
    return { who: 'attach-detach', text: `VolumeAttachment of ${volumeName} to ${nodeName} created` }
  if (!before.deleting && after.deleting)
    return { who: 'attach-detach', text: `VolumeAttachment of ${volumeName} to ${nodeName} deleted` }
  if (!before.attached && after.attached)
    return { who: 'csi-attacher', text: `${volumeName} is attached to ${nodeName}` }
  if (attachError !== undefined && before.attachError !== attachError)
    return { who: 'csi-attacher', text: `${volumeName} is not attached to ${nodeName}: ${attachError}`, bad: true }
  if (detachError !== undefined && before.detachError !== detachError)
    return { who: 'csi-attacher', text: `${volumeName} is not detached from ${nodeName}: ${detachError}`, bad: true }
  return undefined
}

function nodeLine(before: CachedNode | undefined, after: CachedNode | undefined): TimelineEntry | undefined {
  if (before === undefined || after === undefined) return undefined
  const { key } = after
  if (before.ready !== after.ready)
    return {
      who: kubeletOf(key),
      text: `${key} is ${after.ready ? 'ready' : 'not ready'}`,
      ...(!after.ready && { bad: true }),
    }
  if (before.unschedulable !== after.unschedulable)
    return { who: 'you', text: `${key} ${after.unschedulable ? 'cordoned' : 'uncordoned'}` }
  const reported = newIn(names(before), names(after))
  if (reported !== undefined) return { who: 'attach-detach', text: `${key} reports ${handleOf(reported)} as attached` }
  const newInUse = newIn(before.volumesInUse, after.volumesInUse)
  if (newInUse !== undefined) return { who: kubeletOf(key), text: `${key} says that it uses ${handleOf(newInUse)}` }
  const released = newIn(after.volumesInUse, before.volumesInUse)
  if (released === undefined) return undefined
  return { who: kubeletOf(key), text: `${key} says that it uses ${handleOf(released)} no more` }
}

function snapshotLine(
  before: CachedSnapshot | undefined,
  after: CachedSnapshot | undefined,
): TimelineEntry | undefined {
  if (after === undefined) return before && { who: 'snapshot-controller', text: `snapshot ${before.name} gone` }
  const { name, claim, readyToUse, error } = after
  if (before === undefined) return { who: 'you', text: `snapshot ${name} of claim ${claim} created` }
  if (!before.deleting && after.deleting) return { who: 'you', text: `snapshot ${name} deleted` }
  if (!before.readyToUse && readyToUse) return { who: 'snapshot-controller', text: `snapshot ${name} ready to use` }
  if (error === undefined || before.error === error) return undefined
  return { who: 'csi-snapshotter', text: `snapshot ${name} is not taken: ${error}`, bad: true }
}

function contentLine(before: CachedContent | undefined, after: CachedContent | undefined): TimelineEntry | undefined {
  const contentText = (snapshot: string): string => `VolumeSnapshotContent of ${snapshot}`
  if (after === undefined) return before && { who: 'csi-snapshotter', text: `${contentText(before.snapshot)} gone` }
  return before === undefined
    ? { who: 'snapshot-controller', text: `${contentText(after.snapshot)} created` }
    : undefined
}

function names({ volumesAttached }: CachedNode): readonly string[] {
  return volumesAttached.map(({ name }) => name)
}

/** Returns the first name in `after` that is not in `before`. */
function newIn(before: readonly string[], after: readonly string[]): string | undefined {
  if (before === after) return undefined
  const earlier = new Set(before)
  const fresh = after.filter((name) => !earlier.has(name))
  return fresh[0]
}

function handleOf(volumeName: string): string {
  return short(csiVolumeOf(volumeName)?.volumeHandle ?? volumeName)
}

import { Quantity } from '@csi-sidecars/kube-types'
import type { Claim } from '../../caches/claim.ts'
import type { CachedPod } from '../../caches/pod.ts'
import { kubeletOf } from './actors.ts'
import type { Failure } from './call-log.ts'
import type { RowView, WaitNow } from './view.ts'

type Reason = Omit<WaitNow, 'about'>

/** What a claim waits for; undefined when it has all that it asks for. */
export function claimWait(claim: Claim, view: RowView): WaitNow | undefined {
  const reason = ending(claim, view) ?? binding(claim, view) ?? resize(claim, view) ?? modification(claim, view)
  return reason && { ...reason, about: `claim ${claim.name}` }
}

function ending({ deleting, phase }: Claim, { pods }: RowView): Reason | undefined {
  if (phase === 'Lost') {
    return { who: 'persistent-volume', level: 'trouble', why: 'its volume is gone, and the data with it' }
  }
  if (!deleting) return undefined
  if (pods.length === 0) return { who: 'persistent-volume', level: 'works', why: 'deletes it' }
  return { who: 'persistent-volume', level: 'waits', why: `pods still use it: ${names(pods)}` }
}

/** From the events of the PV controller, by their reason. */
function binding({ phase, className, volumeName, uid }: Claim, view: RowView): Reason | undefined {
  if (phase !== 'Pending') return undefined
  const { binding: event, failure } = view
  const message = event === undefined ? {} : { message: event.message }
  switch (event?.reason) {
    case 'WaitForFirstConsumer':
      return { who: 'you', level: 'waits', why: 'its class creates no volume before a pod uses the claim', ...message }
    case 'WaitForPodScheduled':
      return { who: 'scheduler', level: 'works', why: 'chooses a node for its pod first', ...message }
    case 'ExternalProvisioning': {
      const failed = failure('provisioner', 'CreateVolume')
      if (failed !== undefined) return { who: 'provisioner', ...failing(failed, 'the driver creates no volume') }
      return { who: 'provisioner', level: 'works', why: `creates volume pvc-${uid}`, ...message }
    }
    case 'FailedBinding':
      if (volumeName === '' && !className) {
        const why = 'it names no class, there is no default class, and no free volume fits'
        return { who: 'you', level: 'trouble', why, ...message }
      }
      return { who: 'you', level: 'trouble', why: `volume ${volumeName} belongs to another claim`, ...message }
    case 'VolumeMismatch':
      return { who: 'you', level: 'trouble', why: `volume ${volumeName} does not fit`, ...message }
    case 'ProvisioningFailed':
      return { who: 'you', level: 'trouble', why: `class ${className} cannot create a volume`, ...message }
    case undefined:
      if (volumeName === '' || view.volume !== undefined)
        return { who: 'persistent-volume', level: 'works', why: 'binds it' }
      return { who: 'persistent-volume', level: 'waits', why: `volume ${volumeName} is not there` }
    default:
      return { who: 'persistent-volume', level: 'waits', why: 'it has no volume yet', ...message }
  }
}

function resize(claim: Claim, view: RowView): Reason | undefined {
  const { resizeStatus, request, capacity = '0' } = claim
  const grows = `from ${capacity} to ${request}`
  if (resizeStatus?.startsWith('Node')) return nodeResize(resizeStatus, grows, view)
  if (resizeStatus === undefined && compare(request, capacity) <= 0) return undefined
  const who = 'csi-resizer'
  const failed = view.failure(who, 'ControllerExpandVolume')
  if (resizeStatus === 'ControllerResizeInfeasible') {
    return { who, level: 'trouble', why: `the driver cannot expand it ${grows}`, ...messageOf(failed) }
  }
  if (failed !== undefined) return { who, ...failing(failed, `the driver does not expand it ${grows}`) }
  return { who, level: 'works', why: `expands it ${grows}` }
}

/** The volume has grown, and its file system has not yet. */
function nodeResize(status: string, grows: string, { pods, failure }: RowView): Reason {
  const user = pods.find(({ phase }) => phase === 'Running')
  const who = user === undefined ? 'you' : kubeletOf(user.nodeName)
  const failed = failure(who, 'NodeExpandVolume')
  if (status === 'NodeResizeInfeasible') {
    return { who, level: 'trouble', why: 'the node cannot expand its file system', ...messageOf(failed) }
  }
  if (user === undefined) return { who, level: 'waits', why: 'its file system grows when a pod uses it' }
  if (failed !== undefined) return { who, ...failing(failed, 'the file system is not expanded') }
  return { who, level: 'works', why: `expands its file system ${grows}` }
}

function modification(claim: Claim, { failure }: RowView): Reason | undefined {
  const { attributesClass, currentAttributesClass = '' } = claim
  if (attributesClass === currentAttributesClass || attributesClass === '') return undefined
  const why = `changes its class to ${attributesClass}`
  const failed = failure('csi-resizer', 'ControllerModifyVolume')
  if (failed === undefined) return { who: 'csi-resizer', level: 'works', why }
  return { who: 'csi-resizer', ...failing(failed, `the driver does not change its class to ${attributesClass}`) }
}

/** A call that fails and is tried again. */
export function failing(failure: Failure, why: string): Pick<WaitNow, 'level' | 'why' | 'message'> {
  return { level: 'trouble', why, ...messageOf(failure) }
}

/** The driver's error message, and how often it came in a row. */
function messageOf(failure: Failure | undefined): { readonly message?: string } {
  if (failure === undefined) return {}
  const { method, code, message, times } = failure
  const often = times > 1 ? ` (${times} times)` : ''
  return { message: `${method}: ${code}${message === '' ? '' : `: ${message}`}${often}` }
}

function names(pods: readonly CachedPod[]): string {
  return pods.map(({ name }) => name).join(', ')
}

function compare(a: string, b: string): number {
  return Quantity.parse(a).compare(Quantity.parse(b))
}

import { Quantity } from '@csi-sidecars/kube-types'
import type { Claim } from '../../caches/claim.ts'
import type { CachedPod } from '../../caches/pod.ts'
import { kubeletOf } from './actors.ts'
import type { Failure } from './call-book.ts'
import type { RowView, WaitNow } from './view.ts'

type Told = Omit<WaitNow, 'about'>

/** What a claim waits for; undefined when it has all that it asks for. */
export function claimWait(claim: Claim, view: RowView): WaitNow | undefined {
  const told = ending(claim, view) ?? binding(claim, view) ?? resize(claim, view) ?? modification(claim, view)
  return told && { ...told, about: `claim ${claim.name}` }
}

function ending({ deleting, phase }: Claim, { pods }: RowView): Told | undefined {
  if (phase === 'Lost') {
    return { who: 'persistent-volume', level: 'trouble', why: 'its volume is gone, and the data with it' }
  }
  if (!deleting) return undefined
  if (pods.length === 0) return { who: 'persistent-volume', level: 'works', why: 'deletes it' }
  return { who: 'persistent-volume', level: 'waits', why: `pods still use it: ${names(pods)}` }
}

/** From the words of the PV controller, by their reason. */
function binding({ phase, className, volumeName, uid }: Claim, view: RowView): Told | undefined {
  if (phase !== 'Pending') return undefined
  const { binding: told, failure } = view
  const words = told === undefined ? {} : { words: told.message }
  switch (told?.reason) {
    case 'WaitForFirstConsumer':
      return { who: 'you', level: 'waits', why: 'its class makes no volume before a pod uses the claim', ...words }
    case 'WaitForPodScheduled':
      return { who: 'scheduler', level: 'works', why: 'chooses a node for its pod first', ...words }
    case 'ExternalProvisioning': {
      const failed = failure('provisioner', 'CreateVolume')
      if (failed !== undefined) return { who: 'provisioner', ...failing(failed, 'the driver makes no volume') }
      return { who: 'provisioner', level: 'works', why: `makes volume pvc-${uid}`, ...words }
    }
    case 'FailedBinding':
      if (volumeName === '' && !className) {
        const why = 'it names no class, there is no default class, and no free volume fits'
        return { who: 'you', level: 'trouble', why, ...words }
      }
      return { who: 'you', level: 'trouble', why: `volume ${volumeName} belongs to another claim`, ...words }
    case 'VolumeMismatch':
      return { who: 'you', level: 'trouble', why: `volume ${volumeName} does not fit`, ...words }
    case 'ProvisioningFailed':
      return { who: 'you', level: 'trouble', why: `class ${className} cannot make a volume`, ...words }
    case undefined:
      if (volumeName === '' || view.volume !== undefined)
        return { who: 'persistent-volume', level: 'works', why: 'binds it' }
      return { who: 'persistent-volume', level: 'waits', why: `volume ${volumeName} is not there` }
    default:
      return { who: 'persistent-volume', level: 'waits', why: 'it has no volume yet', ...words }
  }
}

function resize(claim: Claim, view: RowView): Told | undefined {
  const { resizeStatus, request, capacity = '0' } = claim
  const grows = `from ${capacity} to ${request}`
  if (resizeStatus?.startsWith('Node')) return nodeResize(resizeStatus, grows, view)
  if (resizeStatus === undefined && compare(request, capacity) <= 0) return undefined
  const who = 'csi-resizer'
  const failed = view.failure(who, 'ControllerExpandVolume')
  if (resizeStatus === 'ControllerResizeInfeasible') {
    return { who, level: 'trouble', why: `the driver cannot expand it ${grows}`, ...wordsOf(failed) }
  }
  if (failed !== undefined) return { who, ...failing(failed, `the driver does not expand it ${grows}`) }
  return { who, level: 'works', why: `expands it ${grows}` }
}

/** The volume has grown, and its file system has not yet. */
function nodeResize(status: string, grows: string, { pods, failure }: RowView): Told {
  const user = pods.find(({ phase }) => phase === 'Running')
  const who = user === undefined ? 'you' : kubeletOf(user.nodeName)
  const failed = failure(who, 'NodeExpandVolume')
  if (status === 'NodeResizeInfeasible') {
    return { who, level: 'trouble', why: 'the node cannot expand its file system', ...wordsOf(failed) }
  }
  if (user === undefined) return { who, level: 'waits', why: 'its file system grows when a pod uses it' }
  if (failed !== undefined) return { who, ...failing(failed, 'the file system is not expanded') }
  return { who, level: 'works', why: `expands its file system ${grows}` }
}

function modification(claim: Claim, { failure }: RowView): Told | undefined {
  const { attributesClass, currentAttributesClass = '' } = claim
  if (attributesClass === currentAttributesClass || attributesClass === '') return undefined
  const why = `changes its class to ${attributesClass}`
  const failed = failure('csi-resizer', 'ControllerModifyVolume')
  if (failed === undefined) return { who: 'csi-resizer', level: 'works', why }
  return { who: 'csi-resizer', ...failing(failed, `the driver does not change its class to ${attributesClass}`) }
}

/** A call that fails and is tried again. */
export function failing(failure: Failure, why: string): Pick<WaitNow, 'level' | 'why' | 'words'> {
  return { level: 'trouble', why, ...wordsOf(failure) }
}

/** The driver's words, and how often it has said them in a row. */
function wordsOf(failure: Failure | undefined): { readonly words?: string } {
  if (failure === undefined) return {}
  const { method, code, message, times } = failure
  const often = times > 1 ? ` (${times} times)` : ''
  return { words: `${method}: ${code}${message === '' ? '' : `: ${message}`}${often}` }
}

function names(pods: readonly CachedPod[]): string {
  return pods.map(({ name }) => name).join(', ')
}

function compare(a: string, b: string): number {
  return Quantity.parse(a).compare(Quantity.parse(b))
}

import { silentLogger } from '@csi-sidecars/telemetry'
import type { Attachment } from '../../caches/attachment.ts'
import { compare } from '../../published-nodes/diff.ts'
import { decideAttach } from '../../volume-attachment/decide-attach.ts'
import { decideAttached, hasStaleError } from '../../volume-attachment/decide-attached.ts'
import { decideDetach } from '../../volume-attachment/decide-detach.ts'
import {
  causesOfNode,
  causesOfVolume,
  hasLostFinalizer,
  onAttachment,
  onAttachmentEnd,
  onVolumeAdded,
} from '../../volume-attachment/triggers.ts'
import { DRIVER, FINALIZER, ofPv, view, volume } from '../views.ts'
import { attachmentOf, has, type Letters } from './attachment-object.ts'

/** What triggers and decisions the process is made of: a test breaks one of them and sees the exploration fail. */
export const PARTS = {
  decideAttach,
  decideAttached,
  decideDetach,
  onAttachment: onAttachment(FINALIZER, silentLogger),
  onAttachmentEnd,
  hasLostFinalizer,
  causesOfVolume,
  causesOfNode,
  onVolumeAdded,
  compare,
  hasStaleError,
}
export type Parts = typeof PARTS

/** What the process does to the attachment, and the steps that are left of it. */
export interface Run {
  readonly operation: 'attach' | 'detach' | 'keep'
  readonly todo: readonly string[]
}

/** One life of the attacher. */
export interface Process {
  readonly cached: Letters | null
  /** Its key is queued, or planned after a back-off. */
  readonly queued: boolean
  readonly planned: boolean
  /** The kind of the cause that it waits for. */
  readonly waits: string
  readonly listing: '' | 'same' | 'different'
  readonly statusPending: boolean
  readonly stripped: boolean
  /** It has published the volume and not unpublished it since. */
  readonly publication: boolean
  /** The publication outlived its attachment, and its key is queued. */
  readonly orphaned: boolean
  readonly run: Run | null
}

export interface State {
  /** What the API server holds. */
  readonly va: Letters | null
  readonly pv: boolean
  readonly node: boolean
  /** Where the driver has the volume. */
  readonly published: boolean
  readonly process: Process | null
  /** What other writers have done, each of it once at most. */
  readonly done: string
  /** A finalizer was removed by hand so that nothing can know where the volume is. */
  readonly excused: boolean
}

const IDLE: Process = {
  cached: null,
  queued: false,
  planned: false,
  waits: '',
  listing: '',
  statusPending: false,
  stripped: false,
  publication: false,
  orphaned: false,
  run: null,
}

const PV = volume()
const NODE = { key: 'node1', uid: 'n', resourceVersion: '1', nodeId: 'node1-id' }

/** The process starts with a cache that was just read. */
export function started({ va }: State): Process {
  return { ...IDLE, cached: va, queued: va !== null }
}

interface Seen {
  readonly cause: 'watch' | 'own'
  readonly parts: Parts
}

/** The cache takes in a state of the attachment, by a watch or as the answer to a write. */
export function seen(process: Process, after: Letters | null, { parts, cause }: Seen): Process {
  const before = process.cached
  if (before === after) return process
  const next = { ...process, cached: after }
  if (after === null) return ended(next, attachmentOf(before ?? ''), parts)
  const object = attachmentOf(after)
  if (before === null) return { ...next, queued: true }
  const event = { type: 'updated', before: attachmentOf(before), after: object, cause } as const
  const keys = [...parts.onAttachment(event, { isInWork: () => process.run !== null })]
  return {
    ...next,
    queued: process.queued || keys.length > 0,
    stripped: process.stripped || parts.hasLostFinalizer(event, FINALIZER),
  }
}

function ended(process: Process, object: Attachment, parts: Parts): Process {
  const orphanedPublicationsOn = (): string[] => (process.publication ? ['orphan'] : [])
  const orphans = [...parts.onAttachmentEnd({ orphanedPublicationsOn })({ type: 'deleted', object })]
  return { ...IDLE, publication: process.publication, orphaned: orphans.length > 0, run: process.run }
}

interface Changed {
  readonly kind: 'pv' | 'node'
  readonly comes: boolean
}

/** The volume, or the driver on the node, comes or goes: the caches of those have it at once. */
export function changed(process: Process, { kind, comes }: Changed, parts: Parts): Process {
  const causes =
    kind === 'pv'
      ? parts.causesOfVolume(comes ? { type: 'added', object: PV } : { type: 'deleted', object: PV })
      : parts.causesOfNode(comes ? { type: 'added', object: NODE } : { type: 'deleted', object: NODE })
  const isCause = causes.some(({ on }) => on === process.waits)
  const cached = process.cached === null ? [] : [attachmentOf(process.cached)]
  const keys = kind === 'pv' && comes ? [...parts.onVolumeAdded(() => cached)({ type: 'added', object: PV })] : []
  return { ...process, queued: process.queued || isCause || keys.length > 0 }
}

/** The process takes up its key. */
export function begun(state: State, process: Process, parts: Parts): Process {
  const taken = { ...process, queued: false, planned: false }
  if (process.cached === null) return { ...taken, waits: '' }
  const { deleting, attached } = attachmentOf(process.cached)
  const operation = deleting ? 'detach' : attached === true && process.listing !== 'different' ? 'keep' : 'attach'
  return planned(taken, operation, decided(state, process, { operation, parts }))
}

const plans = new WeakMap<Parts, Map<string, readonly AnyStep[]>>()

/** Made once of each view. */
function decided(
  { pv, node }: State,
  { cached, listing, stripped, statusPending }: Process,
  { operation, parts }: { readonly operation: Run['operation']; readonly parts: Parts },
): readonly AnyStep[] {
  const known = plans.get(parts) ?? new Map<string, readonly AnyStep[]>()
  plans.set(parts, known)
  const key = `${operation} ${cached} ${pv} ${node} ${listing} ${stripped} ${statusPending}`
  const plan = known.get(key)
  if (plan !== undefined) return plan
  const now = view({
    va: attachmentOf(cached ?? ''),
    volume: ofPv(pv ? PV : undefined),
    node: node ? { known: 'id', nodeId: NODE.nodeId } : { known: 'noNode' },
    forced: listing === 'different',
    confirmed: listing === 'same',
    stripped,
    statusPending,
  })
  const decide = { attach: parts.decideAttach, detach: parts.decideDetach, keep: parts.decideAttached }[operation]
  const made = decide(now)
  known.set(key, made)
  return made
}

type AnyStep = ReturnType<Parts['decideAttach'] | Parts['decideDetach'] | Parts['decideAttached']>[number]

function planned(process: Process, operation: Run['operation'], steps: readonly AnyStep[]): Process {
  if (steps.length === 0) return settled({ ...process, waits: '' })
  const last = steps.at(-1)
  const waits = last?.do === 'fail' || last?.do === 'block' ? (last.waitsFor?.on ?? '') : ''
  const todo = steps.map((step) => step.do as string).filter((name) => name !== 'markDetached')
  const end = operation === 'attach' ? ['markAttached'] : operation === 'detach' ? ['markDetached'] : []
  return { ...process, waits, run: { operation, todo: [...todo, ...end] } }
}

/** A run has succeeded. */
export function settled(process: Process): Process {
  return { ...process, run: null, planned: false, listing: '' }
}

/** A listing of the driver is compared with the attachment. */
export function compared({ pv, node, published }: State, process: Process, parts: Parts): Process {
  if (process.cached === null) return process
  const va = attachmentOf(process.cached)
  const listing = new Map([['handle-1', new Set(published ? [NODE.nodeId] : [])]])
  const nodeNow = node ? ({ known: 'id', nodeId: NODE.nodeId } as const) : ({ known: 'noNode' } as const)
  const verdict = parts.compare({ va, volume: ofPv(pv ? PV : undefined), node: nodeNow }, listing, DRIVER)
  if (verdict.is === 'same' && parts.hasStaleError(va, FINALIZER)) return { ...process, listing: 'same', queued: true }
  if (verdict.is !== 'different') return process
  return { ...process, listing: va.attached === true || va.deleting ? 'different' : process.listing, queued: true }
}

/** Whether something knows that the volume may be published: an object with our finalizer, or the process. */
export function isKnown({ va, process }: State): boolean {
  if (has(va, 'F')) return true
  if (process === null) return false
  if (process.publication) return true
  return va !== null && !has(va, 'Z') && (has(process.cached, 'F') || process.stripped)
}

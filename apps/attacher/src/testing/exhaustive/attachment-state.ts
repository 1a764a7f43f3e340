import { silentLogger } from '@csi-sidecars/telemetry'
import type { CachedAttachment } from '../../caches/attachment.ts'
import { compareAttachment } from '../../published-nodes/resync.ts'
import { hasStaleError } from '../../volume-attachment/checks.ts'
import { type AttachmentPlan, decideKeep, operationOf } from '../../volume-attachment/decide.ts'
import { decideAttach } from '../../volume-attachment/decide-attach.ts'
import { decideDetach } from '../../volume-attachment/decide-detach.ts'
import {
  hasLostFinalizer,
  onAttachment,
  onAttachmentEnd,
  onVolumeAdded,
  wakesOnNode,
  wakesOnVolume,
  wakesOnVolumeGone,
} from '../../volume-attachment/triggers.ts'
import type { AttachmentWakeEvent } from '../../volume-attachment/wake-events.ts'
import { DRIVER, FINALIZER, ofPv, view, volume } from '../views.ts'
import { attachmentOf, has, type Letters } from './attachment-object.ts'

/** The triggers and decisions of the attacher. A test breaks one of them, and expects the model to fail. */
export const ATTACHMENT_RULES = {
  decideAttach,
  decideKeep,
  decideDetach,
  onAttachment: onAttachment(FINALIZER, silentLogger),
  onAttachmentEnd,
  hasLostFinalizer,
  wakesOnVolume,
  wakesOnVolumeGone,
  wakesOnNode,
  onVolumeAdded,
  compareAttachment,
  hasStaleError,
}
export type AttachmentRules = typeof ATTACHMENT_RULES

/** The run that works on the attachment, with its remaining steps. */
export interface AttachmentModelRun {
  readonly operation: AttachmentPlan['operation']
  readonly todo: readonly string[]
}

/** The state of one attacher process, from its start to its end. */
export interface AttachmentModelProcess {
  readonly cached: Letters | null
  /** True if the key of the attachment is queued. `planned`: its next run waits for the end of a back-off. */
  readonly queued: boolean
  readonly planned: boolean
  /** The kind of event that the key of the attachment waits for; empty if there is none. */
  readonly waits: string
  readonly listing: '' | 'same' | 'different'
  readonly mustWriteStatus: boolean
  readonly finalizerRemoved: boolean
  /** True if the process has published the volume and not unpublished it since. */
  readonly publication: boolean
  /** True if the attachment is gone and the unpublish of its volume is queued. */
  readonly orphaned: boolean
  readonly run: AttachmentModelRun | null
}

/**
 * One state of the model: the objects in the API server, the storage, and the attacher process. `process` is null while
 * no attacher runs.
 */
export interface AttachmentModelState {
  /** The VolumeAttachment in the API server. Null: it does not exist. */
  readonly va: Letters | null
  readonly pv: boolean
  readonly node: boolean
  /** True if the driver has published the volume. */
  readonly published: boolean
  readonly process: AttachmentModelProcess | null
  /** The interventions of other writers so far, one letter for each kind. */
  readonly done: string
  /** True if a user has removed our finalizer, and no process can know that the volume is published. */
  readonly excused: boolean
}

const IDLE: AttachmentModelProcess = {
  cached: null,
  queued: false,
  planned: false,
  waits: '',
  listing: '',
  mustWriteStatus: false,
  finalizerRemoved: false,
  publication: false,
  orphaned: false,
  run: null,
}

const PV = volume()
const NODE = { key: 'node1', uid: 'n', resourceVersion: '1', nodeId: 'node1-id' }

/** Returns the state of a process that has just started and filled its cache. */
export function started({ va }: AttachmentModelState): AttachmentModelProcess {
  return { ...IDLE, cached: va, queued: va !== null }
}

/** Stores a state of the attachment in the cache, from a watch or from the answer to a write. */
export function seen(
  process: AttachmentModelProcess,
  after: Letters | null,
  rules: AttachmentRules,
): AttachmentModelProcess {
  const before = process.cached
  if (before === after) return process
  const next = { ...process, cached: after }
  if (after === null) return ended(next, attachmentOf(before ?? ''), rules)
  const object = attachmentOf(after)
  if (before === null) return { ...next, queued: true }
  const event = { type: 'updated', before: attachmentOf(before), after: object, origin: 'change' } as const
  const keys = [...rules.onAttachment(event, { isInWork: () => process.run !== null })]
  return {
    ...next,
    queued: process.queued || keys.length > 0,
    finalizerRemoved: process.finalizerRemoved || rules.hasLostFinalizer(event, FINALIZER),
  }
}

function ended(
  process: AttachmentModelProcess,
  object: CachedAttachment,
  rules: AttachmentRules,
): AttachmentModelProcess {
  const orphanedPublicationsOn = (): string[] => (process.publication ? ['orphan'] : [])
  const orphans = [...rules.onAttachmentEnd({ orphanedPublicationsOn })({ type: 'deleted', object })]
  return { ...IDLE, publication: process.publication, orphaned: orphans.length > 0, run: process.run }
}

interface Changed {
  readonly kind: 'pv' | 'node'
  readonly comes: boolean
}

function wakesOf(kind: Changed['kind'], comes: boolean, rules: AttachmentRules): readonly AttachmentWakeEvent[] {
  if (kind === 'node') return rules.wakesOnNode({ type: comes ? 'added' : 'deleted', object: NODE })
  const event = { type: comes ? 'added' : 'deleted', object: PV } as const
  return [...rules.wakesOnVolume(event), ...rules.wakesOnVolumeGone(event)]
}

/** Creates or deletes the volume or the node. Their caches show the change at once. */
export function changed(
  process: AttachmentModelProcess,
  { kind, comes }: Changed,
  rules: AttachmentRules,
): AttachmentModelProcess {
  const isAwaited = wakesOf(kind, comes, rules).some((wake) => wake.kind === process.waits)
  const cached = process.cached === null ? [] : [attachmentOf(process.cached)]
  const keys = kind === 'pv' && comes ? [...rules.onVolumeAdded(() => cached)({ type: 'added', object: PV })] : []
  return { ...process, queued: process.queued || isAwaited || keys.length > 0 }
}

/** Returns the process after a worker has begun a run over the attachment. */
export function begun(
  state: AttachmentModelState,
  process: AttachmentModelProcess,
  rules: AttachmentRules,
): AttachmentModelProcess {
  const dequeued = { ...process, queued: false, planned: false }
  if (process.cached === null) return { ...dequeued, waits: '' }
  const operation = operationOf({ va: attachmentOf(process.cached), listingDiffers: process.listing === 'different' })
  return planned(dequeued, operation, decided(state, process, { operation, rules }))
}

const plans = new WeakMap<AttachmentRules, Map<string, readonly AnyStep[]>>()

/** Returns the plan for a state. Each plan is computed once and reused, because states repeat. */
function decided(
  { pv, node }: AttachmentModelState,
  { cached, listing, finalizerRemoved, mustWriteStatus }: AttachmentModelProcess,
  { operation, rules }: { readonly operation: AttachmentModelRun['operation']; readonly rules: AttachmentRules },
): readonly AnyStep[] {
  const plansOfRules = plans.get(rules) ?? new Map<string, readonly AnyStep[]>()
  plans.set(rules, plansOfRules)
  const key = `${operation} ${cached} ${pv} ${node} ${listing} ${finalizerRemoved} ${mustWriteStatus}`
  const plan = plansOfRules.get(key)
  if (plan !== undefined) return plan
  const now = view({
    va: attachmentOf(cached ?? ''),
    volume: ofPv(pv ? PV : undefined),
    node: node ? { kind: 'id', nodeId: NODE.nodeId } : { kind: 'noNode' },
    listingDiffers: listing === 'different',
    listingAgrees: listing === 'same',
    finalizerRemoved,
    mustWriteStatus,
  })
  const decide = { attach: rules.decideAttach, detach: rules.decideDetach, keep: rules.decideKeep }[operation]
  const made = decide(now)
  plansOfRules.set(key, made)
  return made
}

type AnyStep = ReturnType<
  AttachmentRules['decideAttach'] | AttachmentRules['decideDetach'] | AttachmentRules['decideKeep']
>[number]

function planned(
  process: AttachmentModelProcess,
  operation: AttachmentModelRun['operation'],
  steps: readonly AnyStep[],
): AttachmentModelProcess {
  if (steps.length === 0) return settled({ ...process, waits: '' })
  const last = steps.at(-1)
  const waits = last?.kind === 'fail' || last?.kind === 'block' ? (last.waitsFor?.kind ?? '') : ''
  const todo = steps.map((step) => step.kind as string).filter((name) => name !== 'markDetached')
  const end = STATUS_WRITES[operation]
  return { ...process, waits, run: { operation, todo: [...todo, ...end] } }
}

/** Ends a run that has succeeded. */
export function settled(process: AttachmentModelProcess): AttachmentModelProcess {
  return { ...process, run: null, planned: false, listing: '' }
}

/** Returns the process after it has compared a listing of the driver with the attachment. */
export function compared(
  { pv, node, published }: AttachmentModelState,
  process: AttachmentModelProcess,
  rules: AttachmentRules,
): AttachmentModelProcess {
  if (process.cached === null) return process
  const va = attachmentOf(process.cached)
  const listing = new Map([['handle-1', new Set(published ? [NODE.nodeId] : [])]])
  const nodeNow = node ? ({ kind: 'id', nodeId: NODE.nodeId } as const) : ({ kind: 'noNode' } as const)
  const verdict = rules.compareAttachment({ va, volume: ofPv(pv ? PV : undefined), node: nodeNow }, listing, DRIVER)
  if (verdict.kind === 'same' && rules.hasStaleError(va, FINALIZER))
    return { ...process, listing: 'same', queued: true }
  if (verdict.kind !== 'different') return process
  return { ...process, listing: va.attached === true || va.deleting ? 'different' : process.listing, queued: true }
}

/** Reports whether our finalizer or the memory of the process shows that the volume may be published. */
export function isKnown({ va, process }: AttachmentModelState): boolean {
  if (has(va, 'F')) return true
  if (process === null) return false
  if (process.publication) return true
  return va !== null && !has(va, 'Z') && (has(process.cached, 'F') || process.finalizerRemoved)
}

const STATUS_WRITES = { attach: ['markAttached'], detach: ['markDetached'], keep: [] } as const

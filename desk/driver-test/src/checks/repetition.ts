import type { ProxiedCall } from '@csi-sidecars/disturb'
import { isJsonObject } from '@csi-sidecars/kube-types'
import type { Violation } from './checks.ts'
import { changedId, createdId, text } from './tracker.ts'

/** The codes by which a driver may ask for a later retry, even if the call has succeeded before. */
export const RETRYABLE_CODES: ReadonlySet<number> = new Set([1, 4, 8, 10, 14])
/** The codes that may be a temporary fault. They are a finding only if they occur twice in a row. */
export const PERHAPS: ReadonlySet<number> = new Set([2, 13])

const NODE_METHODS = [
  'NodeStageVolume',
  'NodeUnstageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeExpandVolume',
]

/** The methods that each method undoes. A later call of an undone method counts as new, not as a repetition. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  DeleteVolume: [
    'CreateVolume',
    'ControllerPublishVolume',
    'ControllerUnpublishVolume',
    'ControllerExpandVolume',
    'ControllerModifyVolume',
    ...NODE_METHODS,
  ],
  DeleteSnapshot: ['CreateSnapshot'],
  ControllerPublishVolume: ['ControllerUnpublishVolume', 'ControllerExpandVolume', 'DeleteVolume'],
  ControllerUnpublishVolume: ['ControllerPublishVolume', ...NODE_METHODS],
  ControllerExpandVolume: ['CreateVolume', 'ControllerExpandVolume'],
  ControllerModifyVolume: ['CreateVolume', 'ControllerModifyVolume'],
  NodeStageVolume: ['NodeUnstageVolume'],
  NodeUnstageVolume: ['NodeStageVolume', 'NodePublishVolume', 'NodeExpandVolume'],
  NodePublishVolume: ['NodeUnpublishVolume'],
  NodeUnpublishVolume: ['NodePublishVolume', 'NodeExpandVolume'],
  NodeExpandVolume: [],
}
const CHECKED: ReadonlySet<string> = new Set(['CreateVolume', 'CreateSnapshot', ...Object.keys(ENDS)])

interface Answered {
  readonly call: ProxiedCall
  failures: number
}

/**
 * Compares the answers to repeated calls. A successful call must succeed again with the same result, unless another
 * request has changed the result.
 */
export class Repetitions {
  readonly #answered = new Map<string, Answered>()
  /** The last call that has succeeded or got no answer, for each volume, node and path. */
  readonly #effects = new Map<string, { readonly call: ProxiedCall; readonly sure: boolean }>()
  /** The earlier success that a running call repeats, by the ID of the running call. */
  readonly #repeating = new Map<number, Answered>()

  see(call: ProxiedCall): readonly Violation[] {
    if (!CHECKED.has(call.method)) return []
    this.#forget(call)
    const key = keyOf(call)
    const before = this.#answered.get(key)
    if (call.end === undefined) {
      if (before !== undefined) this.#repeating.set(call.id, before)
      return []
    }
    const repeated = this.#repeating.get(call.id)
    this.#repeating.delete(call.id)
    const broken = repeated !== undefined && repeated === before ? checked(call, repeated) : []
    if (call.code === 0 && before === undefined) this.#answered.set(key, { call, failures: 0 })
    if (call.code === 0 || call.code === undefined) this.#effects.set(subjectOf(call), { call, sure: call.code === 0 })
    return broken
  }

  /** Returns the result of the last call with this method, volume, node and paths. Undefined if it was undone. */
  earlier(call: ProxiedCall): 'had succeeded' | 'had got no answer' | undefined {
    const effect = this.#effects.get(subjectOf(call))
    return effect && (effect.sure ? 'had succeeded' : 'had got no answer')
  }

  /** Drops the recorded calls whose effects this call undoes. It runs at the start and at the end of the call. */
  #forget(call: ProxiedCall): void {
    for (const [key, { call: other }] of this.#answered) {
      if (key !== keyOf(call) && undoes(call, other)) this.#answered.delete(key)
    }
    for (const [key, { call: other }] of this.#effects) {
      if (key !== subjectOf(call) && undoes(call, other)) this.#effects.delete(key)
    }
  }
}

/** Reports whether `call` undoes the effect of `other`. */
function undoes(call: ProxiedCall, other: ProxiedCall): boolean {
  if (ENDS[call.method]?.includes(other.method) !== true) return false
  if (other.method.startsWith('Create')) return createdId(other) === changedId(call)
  return changedId(other) === changedId(call) && sameNode(other, call) && samePath(other, call)
}

function checked(call: ProxiedCall, repeated: Answered): readonly Violation[] {
  const subjectId = changedId(call) || text(call.request['name'])
  if (call.code === 0) {
    repeated.failures = 0
    return compared(repeated.call, call, subjectId)
  }
  if (call.code === undefined || RETRYABLE_CODES.has(call.code)) return []
  repeated.failures += 1
  if (repeated.failures !== (PERHAPS.has(call.code) ? 2 : 1)) return []
  const description = `${call.method} of ${subjectId}${onNode(call)}`
  const failed = `${description} had succeeded, and failed when it was repeated`
  return [{ check: 'idempotence', subjectId, text: failed, causeKey: call.method }]
}

function compared(first: ProxiedCall, again: ProxiedCall, subjectId: string): readonly Violation[] {
  if (again.method.startsWith('Create')) {
    const [one, two] = [createdId(first), createdId(again)]
    if (one === two) return []
    const [check, noun] =
      again.method === 'CreateVolume' ? (['oneVolume', 'volume'] as const) : (['snapshots', 'snapshot'] as const)
    return [{ check, subjectId, text: `${again.method} of ${subjectId} gave ${noun} ${one}, and then ${two}` }]
  }
  if (again.method !== 'ControllerPublishVolume') return []
  const [one, two] = [first, again].map(({ response }) => sorted(response?.['publishContext']))
  if (one === two) return []
  const change = `publish context of ${subjectId}${onNode(again)} was ${one}, and then ${two}`
  return [{ check: 'context', subjectId, text: `the ${change}` }]
}

export function onNode({ request }: ProxiedCall): string {
  const node = text(request['nodeId'])
  return node === '' ? '' : ` on ${node}`
}

/** Reports whether two calls concern the same node. A call without a node concerns all nodes. */
function sameNode(a: ProxiedCall, b: ProxiedCall): boolean {
  const [one, two] = [text(a.request['nodeId']), text(b.request['nodeId'])]
  return one === '' || two === '' || one === two
}

/** Reports whether the paths of two calls allow that `b` undoes `a`. NodeUnstageVolume undoes a publish at any path. */
function samePath(a: ProxiedCall, b: ProxiedCall): boolean {
  if (!b.method.startsWith('Node') || a.method === 'NodeExpandVolume') return true
  const [one, two] = [a, b].map(({ method, request }) =>
    text(/^Node(Un)?publish/i.test(method) ? request['targetPath'] : request['stagingTargetPath']),
  )
  return a.method === 'NodePublishVolume' && b.method === 'NodeUnstageVolume' ? true : one === two
}

/** Returns a key of the state that a call changes: the method, the volume, the node, the paths and the size. */
function subjectOf({ method, request }: ProxiedCall): string {
  const fields = ['name', 'volumeId', 'snapshotId', 'nodeId', 'targetPath', 'stagingTargetPath']
  const size = request['capacityRange'] as { readonly requiredBytes: bigint } | undefined
  return [method, ...fields.map((field) => text(request[field])), size?.requiredBytes ?? ''].join(' ')
}

/** Returns a key that is equal for equal calls. Secrets are not part of it. */
function keyOf({ method, request }: ProxiedCall): string {
  return `${method} ${sorted({ ...request, secrets: undefined })}`
}

function sorted(value: unknown): string {
  return JSON.stringify(value ?? {}, (_key, each: unknown) => {
    if (typeof each === 'bigint') return String(each)
    if (!isJsonObject(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

import type { Chance } from '../faults/case.ts'
import { chanceOf } from '../faults/seeded.ts'
import type { Answer, Call, Driver } from '../harness/driver.ts'
import { pause } from '../harness/waiting.ts'
import { requiredBytes } from '../stories/resizer/scene.ts'
import { oneOf } from './plan.ts'

export const FIRST_BYTES = 1024 ** 3
export const FIRST_TIER = 'bronze'
export const METHODS = [
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'ControllerModifyVolume',
] as const

/** Unknown, InvalidArgument, DeadlineExceeded, ResourceExhausted, FailedPrecondition, Aborted, Internal, Unavailable. */
const CODES = [2, 3, 4, 8, 9, 10, 13, 14] as const
const ABORTED = 10
const FAILED_PRECONDITION = 9
const LONGEST_CALL_MS = 300
const LOOK_EVERY_MS = 20

/** How a call goes that the back end can carry out. */
interface Outcome {
  readonly ms: number
  readonly applies: boolean
  readonly ends: 'well' | 'never' | (typeof CODES)[number]
}

const WELL: Outcome = { ms: 5, applies: true, ends: 'well' }

/** What a call does to its volume, once it is its turn. */
interface Work {
  /** No second one meanwhile: the driver itself answers Aborted to it. */
  readonly key: string
  readonly apply: () => void
  readonly reply: object
  /** Not before this holds. */
  readonly when?: () => boolean
}

/** The volumes behind a driver: they outlive it, and a call that fails may have changed them nevertheless. */
export class BackEnd {
  /** Handle and node id, by `pairOf`. */
  readonly published = new Set<string>()
  /** While it is, every call that can go well does. */
  calm = true
  readonly #seed: number
  readonly #sizes = new Map<string, number>()
  readonly #tiers = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #running = new Set<string>()

  constructor(seed: number, driver: Driver) {
    this.#seed = seed
    driver.on('ControllerPublishVolume', (call) => this.#publish(call))
    driver.on('ControllerUnpublishVolume', (call) => this.#unpublish(call))
    driver.on('ControllerExpandVolume', (call) => this.#expand(call))
    driver.on('ControllerModifyVolume', (call) => this.#modify(call))
  }

  sizeOf(handle: string): number {
    return this.#sizes.get(handle) ?? FIRST_BYTES
  }

  tierOf(handle: string): string {
    return this.#tiers.get(handle) ?? FIRST_TIER
  }

  /** The driver dies: what it was about to do is not done. */
  forgetCalls(): void {
    this.#running = new Set()
  }

  #publish(call: Call): Answer {
    const handle = handleOf(call)
    const pair = pairOf(handle, nodeOf(call))
    const elsewhere = (): boolean =>
      isSingleNode(call) && [...this.published].some((each) => each !== pair && each.startsWith(pairOf(handle, '')))
    const work: Work = {
      key: pair,
      apply: () => this.published.add(pair),
      reply: { publishContext: { pair } },
    }
    if (!elsewhere()) return this.#answer(call, work)
    // Some drivers wait until the volume has left the other node, some refuse.
    if (this.#chanceOf(call, 'wait').upTo(2) === 1) return this.#answer(call, { ...work, when: () => !elsewhere() })
    return { code: FAILED_PRECONDITION, message: 'the volume is published to another node' }
  }

  #unpublish(call: Call): Answer {
    const pair = pairOf(handleOf(call), nodeOf(call))
    return this.#answer(call, { key: pair, apply: () => this.published.delete(pair), reply: {} })
  }

  #expand(call: Call): Answer {
    const handle = handleOf(call)
    const bytes = Math.max(this.sizeOf(handle), Number(requiredBytes(call.request)))
    return this.#answer(call, {
      key: `expand ${handle}`,
      apply: () => this.#sizes.set(handle, bytes),
      reply: { capacityBytes: BigInt(bytes), nodeExpansionRequired: false },
    })
  }

  #modify(call: Call): Answer {
    const handle = handleOf(call)
    const { tier = FIRST_TIER } = (call.request['mutable_parameters'] ?? {}) as { tier?: string }
    return this.#answer(call, { key: `modify ${handle}`, apply: () => this.#tiers.set(handle, tier), reply: {} })
  }

  #answer(call: Call, work: Work): Answer {
    if (this.#running.has(work.key)) return { code: ABORTED, message: `${work.key}: a call is running` }
    const outcome = this.calm ? WELL : outcomeOf(this.#chanceOf(call, 'outcome'))
    const after = this.#carryOut(call, work, outcome)
    if (typeof outcome.ends === 'number')
      return { code: outcome.ends, message: `code ${outcome.ends} by chance`, after }
    return { reply: work.reply, after }
  }

  async #carryOut(call: Call, { key, apply, when = () => true }: Work, outcome: Outcome): Promise<void> {
    const running = this.#running
    running.add(key)
    const alive = (): boolean => this.#running === running
    await pause(outcome.ms)
    while (!when() && alive() && !call.cancelled) await pause(LOOK_EVERY_MS)
    if (outcome.applies && alive() && when()) apply()
    running.delete(key)
    while (outcome.ends === 'never' && alive() && !call.cancelled) await pause(LOOK_EVERY_MS)
  }

  /** Depends on the call and on how often there was such a call, not on the order of all calls. */
  #chanceOf({ method, request }: Call, what: string): Chance {
    const name = `${what} ${method} ${request['volume_id']} ${request['node_id']}`
    const nth = this.#counts.get(name) ?? 0
    this.#counts.set(name, nth + 1)
    return chanceOf(this.#seed, `${name} ${nth}`)
  }
}

export function pairOf(handle: string, nodeId: string): string {
  return `${handle} on ${nodeId}`
}

export function handleOf({ request }: Call): string {
  return String(request['volume_id'])
}

export function nodeOf({ request }: Call): string {
  return String(request['node_id'])
}

export function isSingleNode({ request }: Call): boolean {
  const { access_mode } = (request['volume_capability'] ?? {}) as { access_mode?: { mode?: string } }
  return access_mode?.mode?.startsWith('SINGLE_NODE') === true
}

/** Of ten calls six go well, three fail, and the answer of one is lost; what does not go well may be done all the same. */
function outcomeOf(chance: Chance): Outcome {
  const ms = chance.upTo(LONGEST_CALL_MS)
  const which = chance.upTo(10)
  const applies = chance.upTo(2) === 1
  if (which <= 6) return { ms, applies: true, ends: 'well' }
  if (which <= 9) return { ms, applies, ends: oneOf(chance, CODES) }
  return { ms, applies, ends: 'never' }
}

import { systemClock as clock } from '@csi-sidecars/base'
import { between, converge, type Finding, Occurrences, pick, play, type Random } from '@csi-sidecars/disturb'
import { APPS } from '@csi-sidecars/sidecars'
import { soundLines } from '../faults/case.ts'
import type { FaultRule } from '../harness/api/wire.ts'
import { WRITE_FAULTS } from '../harness/api/write-faults.ts'
import type { TestContext } from '../harness/context.ts'
import type { Call, Driver } from '../harness/driver/driver.ts'
import type { App } from '../harness/subject.ts'
import { pause } from '../harness/waiting.ts'
import { Attachments } from '../model/attachments.ts'
import { BackEnd, type Outcome } from '../model/back-end.ts'
import { Claims } from '../model/claims.ts'
import { isVolumeCall, overlaps } from '../model/overlaps.ts'
import { Sidecars } from '../model/sidecars.ts'
import { type GroundMove, type Move, NODES, planOf, type StormOptions, volumesOf } from './plan.ts'

const ARGS: readonly string[] = ['--retry-interval-start=100ms', '--retry-interval-max=2s', '--timeout=2s', '-v=4']
/** Of requests of a sidecar that are no watch. */
const SHARE_OF_FAILING_REQUESTS = 0.06
/** Unknown, InvalidArgument, DeadlineExceeded, ResourceExhausted, FailedPrecondition, Aborted, Internal, Unavailable. */
const CODES = [2, 3, 4, 8, 9, 10, 13, 14] as const
const LONGEST_CALL_MS = 300
/** After the last fault everything converges without help. */
const SETTLED_WITHIN_MS = 60_000
/** And then nothing is done any more. */
const QUIET_MS = 3000

export interface StormResult {
  readonly findings: readonly Finding[]
  readonly calls: readonly Call[]
  readonly settledMs: number
  /** Of a storm in which nothing failed nothing follows. */
  readonly requestsFailed: number
  readonly disturbed: number
}

/** One storm: everything begins well, then anything may fail, then nothing, and then all must be as it should. */
export class Storm {
  readonly #t: TestContext
  readonly #options: StormOptions
  readonly #driver: Driver
  readonly #backEnd: BackEnd
  readonly #attachments: Attachments
  readonly #claims: Claims
  readonly #sidecars: ReadonlyMap<App, Sidecars>
  readonly #requests: Occurrences
  /** What is done to one object is done in order. */
  readonly #chains = new Map<string, Promise<void>>()
  readonly #findings: Finding[] = []
  #requestsFailed = 0
  #disturbed = 0

  constructor(t: TestContext, options: StormOptions) {
    this.#t = t
    this.#options = options
    const controller = ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'] as const
    this.#driver = t.idleDriver({ controller: [...controller] })
    this.#backEnd = new BackEnd(options.seed, this.#driver, (_, random) => outcomeOf(random))
    this.#attachments = new Attachments(t, this.#backEnd, { volumes: volumesOf(options.objects), nodes: NODES })
    this.#claims = new Claims(t, this.#backEnd, options.objects)
    this.#requests = new Occurrences(options.seed)
    this.#sidecars = new Map(APPS.map((app) => [app, this.#sidecarsOf(app)]))
  }

  async run(): Promise<StormResult> {
    try {
      return await this.#storm()
    } finally {
      for (const sidecars of this.#sidecars.values()) await sidecars.stop()
    }
  }

  async #storm(): Promise<StormResult> {
    await this.#driver.start()
    for (const sidecars of this.#sidecars.values()) await sidecars.start()
    await Promise.all([this.#attachments.start({ attached: true }), this.#claims.start()])
    this.#backEnd.calm = false
    await this.#disturbAll()
    this.#backEnd.calm = true
    const began = performance.now()
    this.#findings.push(...(await this.#settled(() => this.#differences())))
    const settledMs = performance.now() - began
    const calls = this.#driver.calls.filter(isVolumeCall)
    if (this.#findings.length === 0) await this.#quiet()
    if (this.#findings.length === 0) await this.#clear()
    for (const sidecars of this.#sidecars.values()) for (const each of sidecars.running) soundLines(each)
    const findings = [...this.#findings, ...overlaps(this.#driver.calls)]
    return { findings, calls, settledMs, requestsFailed: this.#requestsFailed, disturbed: this.#disturbed }
  }

  async #disturbAll(): Promise<void> {
    const perform = (move: Move): void => {
      const chain = chainOf(move)
      // What could not be done once is not tried again: the rest of its chain is left out.
      const made = (this.#chains.get(chain) ?? Promise.resolve()).then(() => this.#make(move))
      made.catch(() => undefined)
      this.#chains.set(chain, made)
    }
    await play(planOf(this.#options), perform, { clock })
    for (const [chain, made] of this.#chains) {
      await made.catch((error: unknown) => this.#findings.push({ rule: `${chain} can be done`, text: String(error) }))
    }
  }

  #make(move: Move): Promise<void> {
    switch (move.of) {
      case 'attachment':
        return this.#attachments.make(move)
      case 'claim':
        return this.#claims.make(move)
      case 'ground':
        return this.#disturb(move)
    }
  }

  async #disturb({ do: what, forMs }: GroundMove): Promise<void> {
    this.#disturbed += 1
    switch (what) {
      case 'cutWatches':
        return this.#cutWatches()
      case 'compact':
        await this.#t.cluster.compact()
        return this.#cutWatches()
      case 'killDriver':
        this.#driver.kill()
        this.#backEnd.forgetCalls()
        await pause(forMs)
        return await this.#driver.start()
      case 'killAttacher':
        return await this.#sidecars.get('attacher')?.kill(0, forMs)
      case 'killResizer':
        return await this.#sidecars.get('resizer')?.kill(0, forMs)
    }
  }

  #cutWatches(): void {
    for (const { gates } of this.#sidecars.values()) for (const gate of gates) gate.dropWatches()
  }

  #sidecarsOf(app: App): Sidecars {
    return new Sidecars(this.#t, {
      app,
      driver: this.#driver,
      args: ARGS,
      replicas: 1,
      rule: this.#failing(),
      interrupted: () => this.#attachments.interrupted(),
      ended: (sidecar) => {
        // A start that loses its driver ends with 1, as that of the Go original does, and kubelet starts it again.
        if (sidecar.exit?.code === 1 && sidecar.linesWith('"Starting ').length === 0) return
        this.#findings.push({ rule: 'no process ends by itself', text: `${app}: ${JSON.stringify(sidecar.exit)}` })
      },
    })
  }

  /** Requests fail by chance: by what is asked, and how often it was. */
  #failing(): FaultRule {
    const ways = Object.values(WRITE_FAULTS)
    return ({ method, path, watch }) => {
      if (this.#backEnd.calm || watch) return undefined
      const random = this.#requests.next(`${method} ${path}`)
      if (random() >= SHARE_OF_FAILING_REQUESTS) return undefined
      this.#requestsFailed += 1
      return pick(random, ways)
    }
  }

  async #differences(): Promise<readonly Finding[]> {
    return [...(await this.#attachments.differences()), ...(await this.#claims.differences())]
  }

  #settled(look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
    const withinMs = this.#findings.length === 0 ? SETTLED_WITHIN_MS : 0
    return converge(look, { clock, withinMs, everyMs: 1000 })
  }

  async #quiet(): Promise<void> {
    const before = this.#driver.calls.length
    await pause(QUIET_MS)
    for (const call of this.#driver.calls.slice(before).filter(isVolumeCall)) {
      this.#findings.push({ rule: 'no call when all is done', text: JSON.stringify(call) })
    }
    this.#findings.push(...(await this.#differences()))
  }

  /** All is deleted, and nothing is left over. */
  async #clear(): Promise<void> {
    await this.#attachments.deleteAll()
    this.#findings.push(...(await this.#settled(() => this.#attachments.differences())))
    this.#findings.push(...(await this.#attachments.deleteVolumes()))
    await this.#claims.remove()
  }
}

/** Of ten calls six go well, three fail, and the answer of one is lost; what does not go well may be done all the same. */
function outcomeOf(random: Random): Outcome {
  const ms = between(random, 1, LONGEST_CALL_MS)
  const which = between(random, 1, 10)
  const applies = random() < 0.5
  if (which <= 6) return { ms, applies: true, ends: 'well' }
  return { ms, applies, ends: which <= 9 ? pick(random, CODES) : 'never' }
}

function chainOf(move: Move): string {
  return move.of === 'ground' ? `ground ${move.do}` : `${move.of} ${move.index}`
}

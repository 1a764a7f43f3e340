import { soundLines } from '../faults/case.ts'
import { chanceOf } from '../faults/seeded.ts'
import type { Call, Driver } from '../harness/driver.ts'
import type { Gate } from '../harness/gate.ts'
import type { App } from '../harness/subject.ts'
import { eventually, pause } from '../harness/waiting.ts'
import { WAYS_TO_FAIL } from '../harness/ways-to-fail.ts'
import type { RunningSidecar, World } from '../harness/world.ts'
import { Attachments } from './attachments.ts'
import { BackEnd } from './back-end.ts'
import { Claims } from './claims.ts'
import { type Finding, isVolumeCall, overlaps } from './overlaps.ts'
import { type GroundMove, type Move, planOf, type StormOptions } from './plan.ts'

const ARGS: readonly string[] = ['--retry-interval-start=100ms', '--retry-interval-max=2s', '--timeout=2s', '-v=4']
/** Of a hundred requests of a sidecar that are no watch. */
const FAILING_REQUESTS = 6
/** After the last fault everything comes right without help. */
const SETTLED_WITHIN_MS = 60_000
/** And then nothing is done any more. */
const QUIET_MS = 3000
const APPS: readonly App[] = ['attacher', 'resizer']

export interface Verdict {
  readonly findings: readonly Finding[]
  readonly calls: readonly Call[]
  readonly settledMs: number
  /** Of a storm in which nothing failed nothing follows. */
  readonly requestsFailed: number
  readonly disturbed: number
}

/** One storm: everything begins well, then anything may fail, then nothing, and then all must be as it should. */
export class Storm {
  readonly #t: World
  readonly #options: StormOptions
  readonly #driver: Driver
  readonly #backEnd: BackEnd
  readonly #attachments: Attachments
  readonly #claims: Claims
  readonly #sidecars = new Map<App, RunningSidecar>()
  /** What is done to one object is done in order. */
  readonly #chains = new Map<string, Promise<void>>()
  readonly #findings: Finding[] = []
  #requestsFailed = 0
  #disturbed = 0

  constructor(t: World, options: StormOptions) {
    this.#t = t
    this.#options = options
    const controller = ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'] as const
    this.#driver = t.idleDriver({ controller: [...controller] })
    this.#backEnd = new BackEnd(options.seed, this.#driver)
    this.#attachments = new Attachments(t, options.objects)
    this.#claims = new Claims(t, options.objects)
  }

  async run(): Promise<Verdict> {
    await this.#driver.start()
    for (const app of APPS) await this.#start(app, await this.#gate())
    await Promise.all([this.#attachments.start(), this.#claims.start()])
    this.#backEnd.calm = false
    await this.#disturbAll()
    this.#backEnd.calm = true
    const began = performance.now()
    await this.#settled()
    const settledMs = performance.now() - began
    const calls = this.#driver.calls.filter(isVolumeCall)
    if (this.#findings.length === 0) await this.#quiet()
    if (this.#findings.length === 0) await this.#clear()
    for (const sidecar of this.#sidecars.values()) soundLines(sidecar)
    const findings = [...this.#findings, ...overlaps(this.#driver.calls)]
    return { findings, calls, settledMs, requestsFailed: this.#requestsFailed, disturbed: this.#disturbed }
  }

  async #disturbAll(): Promise<void> {
    const began = performance.now()
    for (const { atMs, move } of planOf(this.#options)) {
      await pause(Math.max(0, began + atMs - performance.now()))
      const chain = chainOf(move)
      // What could not be done once is not tried again: the rest of its chain is left out.
      const made = (this.#chains.get(chain) ?? Promise.resolve()).then(() => this.#make(move))
      made.catch(() => undefined)
      this.#chains.set(chain, made)
    }
    for (const [index, result] of (await Promise.allSettled(this.#chains.values())).entries()) {
      if (result.status === 'fulfilled') continue
      const chain = [...this.#chains.keys()][index]
      this.#findings.push({ text: `${chain}: something could not be done: ${String(result.reason)}` })
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
        for (const { gate } of this.#sidecars.values()) gate.dropWatches()
        return
      case 'compact':
        await this.#t.cluster.compact()
        for (const { gate } of this.#sidecars.values()) gate.dropWatches()
        return
      case 'killDriver':
        this.#driver.kill()
        this.#backEnd.forgetCalls()
        await pause(forMs)
        return await this.#driver.start()
      case 'killAttacher':
        return await this.#kill('attacher', forMs)
      case 'killResizer':
        return await this.#kill('resizer', forMs)
    }
  }

  async #kill(app: App, forMs: number): Promise<void> {
    const sidecar = this.#sidecars.get(app)
    if (sidecar === undefined) return
    if (sidecar.exit !== undefined) this.#findings.push({ text: `${app} ended: ${JSON.stringify(sidecar.exit)}` })
    sidecar.signal('SIGKILL')
    await sidecar.end()
    await pause(forMs)
    await this.#start(app, sidecar.gate)
  }

  async #start(app: App, gate: Gate): Promise<void> {
    const user = this.#sidecars.get(app)?.user
    const setup = { app, gate, driver: this.#driver, args: ARGS, ...(user === undefined ? {} : { user }) }
    const sidecar = await this.#t.sidecar(setup)
    this.#sidecars.set(app, sidecar)
    void sidecar.exited
      .then(async ({ code }) => {
        const started = sidecar.linesWith('"Starting ').length > 0
        // A start that loses its driver ends with 1, as that of the Go original does, and kubelet starts it again.
        if (code === 1 && !started && this.#sidecars.get(app) === sidecar) await this.#start(app, gate)
      })
      .catch((error: unknown) => this.#findings.push({ text: `${app} did not start again: ${String(error)}` }))
  }

  /** A door at which requests fail by chance: by what is asked, and how often it was. */
  async #gate(): Promise<Gate> {
    const gate = await this.#t.gate()
    const ways = Object.values(WAYS_TO_FAIL)
    const counts = new Map<string, number>()
    gate.rules.push(({ method, path, watch }) => {
      if (this.#backEnd.calm || watch) return undefined
      const nth = (counts.get(`${method} ${path}`) ?? 0) + 1
      counts.set(`${method} ${path}`, nth)
      const chance = chanceOf(this.#options.seed, `${method} ${path} ${nth}`)
      if (chance.upTo(100) > FAILING_REQUESTS) return undefined
      this.#requestsFailed += 1
      return ways[chance.upTo(ways.length) - 1]
    })
    return gate
  }

  async #differences(): Promise<readonly Finding[]> {
    const attachments = await this.#attachments.differences(this.#backEnd)
    return [...attachments, ...(await this.#claims.differences(this.#backEnd))]
  }

  async #settled(): Promise<void> {
    const agree = async (): Promise<boolean> => (await this.#differences()).length === 0
    const patience = { within: this.#findings.length === 0 ? SETTLED_WITHIN_MS : 0, every: 1000 }
    await eventually('agreement', agree, patience).catch(async () => {
      this.#findings.push(...(await this.#differences()))
    })
    for (const [app, { exit }] of this.#sidecars) {
      if (exit !== undefined) this.#findings.push({ text: `${app} ended: ${JSON.stringify(exit)}` })
    }
  }

  async #quiet(): Promise<void> {
    const before = this.#driver.calls.length
    await pause(QUIET_MS)
    for (const call of this.#driver.calls.slice(before).filter(isVolumeCall)) {
      this.#findings.push({ text: `a call when all was done: ${JSON.stringify(call)}` })
    }
    this.#findings.push(...(await this.#differences()))
  }

  /** All is deleted, and nothing is left over. */
  async #clear(): Promise<void> {
    await this.#attachments.deleteAll()
    const gone = async (): Promise<boolean> => (await this.#attachments.differences(this.#backEnd)).length === 0
    const patience = { within: SETTLED_WITHIN_MS, every: 500 }
    await eventually('the end of all attachments', gone, patience).catch(() => undefined)
    this.#findings.push(...(await this.#attachments.differences(this.#backEnd)))
    this.#findings.push(...(await this.#attachments.deleteVolumes()))
    await this.#claims.deleteAll()
  }
}

function chainOf(move: Move): string {
  return move.of === 'ground' ? `ground ${move.do}` : `${move.of} ${move.index}`
}

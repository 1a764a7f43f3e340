import { systemClock as clock, messageOf } from '@csi-sidecars/base'
import { converge, type Finding, play } from '@csi-sidecars/disturb'
import { refusal } from '../harness/api/gate.ts'
import type { FaultRule, WireRequest } from '../harness/api/wire.ts'
import { WRITE_FAULTS } from '../harness/api/write-faults.ts'
import type { TestContext } from '../harness/context.ts'
import type { Call, Capabilities, FakeDriver } from '../harness/driver/driver.ts'
import { soundLines } from '../harness/process/sound.ts'
import type { TestedApp } from '../harness/subject.ts'
import { pause } from '../harness/waiting.ts'
import { Attachments } from '../model/attachments.ts'
import { BackEnd, type CallOutcome } from '../model/back-end.ts'
import { bursts } from '../model/bursts.ts'
import { Claims } from '../model/claims.ts'
import { isVolumeCall, overlaps } from '../model/overlaps.ts'
import { Provisions } from '../model/provisions.ts'
import { Sidecars } from '../model/sidecars.ts'
import { SnapshotModel } from '../model/snapshots.ts'
import { endsOf } from './ends.ts'
import { type FaultStep, type History, type HistoryStep, SUBJECTS } from './plan.ts'

/** The time in which a sidecar must send no calls and no writes after its objects have converged. */
const QUIET_MS = 1200
/** The time for which the watch does not report that a user keeps a snapshot whose deletion is retried. */
const UNSEEN_MS = 2_000
const CHECK_EVERY_MS = 500
/** The number of checks in which a process must begin to watch. With their pauses, they take 60 seconds or more. */
const MAX_START_CHECKS = 120
const CAPABILITIES: Readonly<Record<TestedApp, Capabilities['controller']>> = {
  attacher: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'],
  resizer: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME', 'MODIFY_VOLUME'],
  provisioner: ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'MODIFY_VOLUME'],
  snapshotter: ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'],
}
const LISTING = ['LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] as const
const RETRIES = ['--retry-interval-start=100ms', '--retry-interval-max=2s', '-v=4']
const ELECTION = [
  '--leader-election',
  '--leader-election-namespace=default',
  '--leader-election-lease-duration=10s',
  '--leader-election-renew-deadline=8s',
  '--leader-election-retry-period=500ms',
]

/** The state and the record of one implementation after a history. No finding means that all rules hold. */
export interface End {
  readonly findings: readonly Finding[]
  /** The final state of the objects, by name without the ID of the run. */
  readonly objects: ReadonlyMap<string, string>
  readonly calls: readonly Call[]
  /** The limits of docs/operations.md that the history has reached. */
  readonly limits: ReadonlySet<string>
}

/** Runs one history with one implementation, our sidecars or the Go sidecars. */
export class HistorySide {
  readonly #t: TestContext
  readonly #history: History
  readonly #maxChecks: number
  readonly #driver: FakeDriver
  readonly #backEnd: BackEnd
  readonly #attachments: Attachments
  readonly #claims: Claims
  readonly #provisions: Provisions
  readonly #snapshots: SnapshotModel
  /** The models that know the expected state, one for each tested sidecar. */
  readonly #models: readonly (Attachments | Claims | Provisions | SnapshotModel)[]
  readonly #sidecars: Sidecars
  readonly #outcomes = new Map<string, CallOutcome[]>()
  readonly #failing: { readonly resource: string; readonly way: string; left: number }[] = []
  readonly #heldReads = new Map<string, Promise<void>>()
  readonly #background = new Set<Promise<void>>()
  #driverIsDown = false

  /** `maxChecks` is the number of checks in which the objects must converge after the last fault. */
  constructor(t: TestContext, history: History, maxChecks: number) {
    this.#t = t
    this.#history = history
    this.#maxChecks = maxChecks
    const { seed, apps, listing, finalizes, replicas, size, variant } = history
    const controller = new Set([...apps.flatMap((app) => CAPABILITIES[app]), ...(listing ? LISTING : [])])
    this.#driver = t.idleDriver({ controller: [...controller], topology: variant === 'node' })
    this.#backEnd = new BackEnd(seed, this.#driver, ({ method }) => this.#outcomes.get(method)?.shift())
    const count = (app: TestedApp, objects: number): number => (apps.includes(app) ? objects : 0)
    const volumes = count('attacher', size.volumes)
    this.#attachments = new Attachments(t, this.#backEnd, {
      volumes,
      nodes: size.nodes,
      listing,
      volumesLag: () => this.#heldReads.has('persistentvolumes'),
    })
    this.#claims = new Claims(t, this.#backEnd, count('resizer', size.claims))
    const leaks = !finalizes || !t.ours
    this.#provisions = new Provisions(t, this.#backEnd, { claims: count('provisioner', size.claims), leaks, variant })
    const forgets = replicas > 1 || !t.ours
    this.#snapshots = new SnapshotModel(t, this.#backEnd, {
      contents: count('snapshotter', size.volumes),
      forgets,
      delayWatch: (resource) => this.#runInBackground(this.#stale(resource, UNSEEN_MS)),
    })
    const models = {
      attacher: this.#attachments,
      resizer: this.#claims,
      provisioner: this.#provisions,
      snapshotter: this.#snapshots,
    }
    this.#models = apps.map((app) => models[app])
    this.#sidecars = new Sidecars(t, {
      apps,
      driver: this.#driver,
      args: argsOf(history, t.ours),
      env: variant === 'node' ? { NODE_NAME: t.name('node') } : {},
      replicas,
      rule: this.#rule,
      watches: this.#watches,
      interrupted: async () => {
        this.#snapshots.interrupted()
        this.#provisions.interrupted()
        await this.#attachments.interrupted()
      },
    })
  }

  async run(): Promise<End> {
    try {
      const missing = await this.#start()
      if (missing.length > 0) return { findings: missing, objects: new Map(), calls: [], limits: new Set() }
      this.#backEnd.calm = false
      await play(this.#history.steps, (step) => this.#make(step), { clock })
      await this.#calm()
      const settled = await this.#settled()
      const objects = endsOf(await this.#attachments.state(), await this.#claims.state(), this.#t.id)
      const last = settled.length > 0 ? settled : [...(await this.#quiet()), ...(await this.#clear())]
      const calls = this.#driver.calls.filter(isVolumeCall)
      return { findings: [...last, ...this.#always()], objects, calls, limits: this.#attachments.limits }
    } finally {
      await this.#sidecars.stop()
      for (const model of this.#models) await model.remove()
    }
  }

  /** Starts everything. Returns a finding if no process begins to watch. */
  async #start(): Promise<readonly Finding[]> {
    await this.#driver.start()
    for (const model of this.#models) await model.start()
    await this.#sidecars.start()
    const watches = this.#watches
    const isWatching = (): boolean =>
      this.#sidecars.gates.some((gate) => watches.every((plural) => gate.openWatches(plural) > 0))
    const missing = [{ rule: 'a process watches after its start', text: watches.join() }]
    const check = (): readonly Finding[] => (isWatching() ? [] : missing)
    return await converge(check, { clock, maxChecks: MAX_START_CHECKS, everyMs: CHECK_EVERY_MS })
  }

  async #make(step: HistoryStep): Promise<void> {
    if (step.of === 'attachment') await this.#attachments.make(step)
    else if (step.of === 'claim') await this.#claims.make(step)
    else if (step.of === 'provision') await this.#provisions.make(step)
    else if (step.of === 'snapshot') await this.#snapshots.make(step)
    else this.#inject(step)
  }

  #inject(step: FaultStep): void {
    switch (step.kind) {
      case 'calls': {
        const queue = this.#outcomes.get(step.method) ?? []
        this.#outcomes.set(step.method, [...queue, ...Array.from({ length: step.times }, () => step.outcome)])
        return
      }
      case 'requests':
        this.#failing.push({ resource: step.resource, way: step.way, left: step.times })
        return
      case 'stale':
        return this.#runInBackground(this.#stale(step.resource, step.forMs))
      case 'gap':
        return this.#runInBackground(this.#gap(step.resource, step.forMs))
      case 'cutWatches':
        for (const gate of this.#sidecars.gates) gate.dropWatches()
        return
      case 'driverDown':
        return this.#runInBackground(this.#restartDriver(step.forMs))
      case 'otherDriver':
        return this.#runInBackground(this.#replaceDriver(step.forMs))
      case 'kill':
        return this.#runInBackground(this.#sidecars.kill(step.replica, step.forMs))
      case 'freeze':
        return this.#runInBackground(this.#sidecars.freeze(step.replica, step.forMs))
      case 'rollout':
        return this.#runInBackground(this.#sidecars.down(step.replica).then(() => this.#sidecars.up(step.replica)))
    }
  }

  /** Runs a fault with a duration in the background, while the history continues. */
  #runInBackground(work: Promise<void>): void {
    const tracked = work.finally(() => this.#background.delete(tracked))
    tracked.catch(() => undefined)
    this.#background.add(tracked)
  }

  async #stale(resource: string, forMs: number): Promise<void> {
    const released = pause(forMs)
    this.#heldReads.set(resource, released)
    const release = this.#sidecars.gates.map((gate) => gate.holdWatches(resource))
    await released
    this.#heldReads.delete(resource)
    for (const each of release) each()
  }

  /** Loses the events of a resource for this time. The sidecars then must list again. */
  async #gap(resource: string, forMs: number): Promise<void> {
    for (const gate of this.#sidecars.gates) gate.muteWatches(resource)
    await pause(forMs)
    this.#snapshots.forgotten()
    for (const gate of this.#sidecars.gates) {
      gate.inject(`WATCH ${resource}`, refusal(410, 'Expired', 'too old resource version'), { times: 1 })
      gate.dropWatches(resource)
    }
  }

  async #restartDriver(forMs: number): Promise<void> {
    if (this.#driverIsDown) return
    this.#driverIsDown = true
    this.#backEnd.forgetCalls()
    await this.#driver.restart(forMs)
    this.#driverIsDown = false
  }

  async #replaceDriver(forMs: number): Promise<void> {
    if (this.#driverIsDown) return
    this.#driver.name = `other-${this.#t.driverName}`
    await this.#restartDriver(50)
    await pause(forMs)
    this.#driver.name = this.#t.driverName
    await this.#restartDriver(50)
  }

  readonly #rule: FaultRule = ({ watch, method, resource }) => {
    const release = watch ? this.#heldReads.get(resource) : undefined
    if (release !== undefined) return { kind: 'wait', for: release }
    if (watch || method === 'GET' || this.#backEnd.calm) return undefined
    const failing = this.#failing.find((each) => each.resource === resource && each.left > 0)
    if (failing === undefined) return undefined
    failing.left -= 1
    if (resource.includes('snapshotcontents')) this.#snapshots.forgotten()
    return WRITE_FAULTS[failing.way]
  }

  /** The resources whose watches a process must open before the history begins. */
  get #watches(): readonly string[] {
    return this.#history.apps.map((app) => SUBJECTS[app].watched[0] ?? '')
  }

  /** Ends all faults and waits until all replicas run. */
  async #calm(): Promise<void> {
    this.#backEnd.calm = true
    while (this.#background.size > 0) await Promise.allSettled(this.#background)
    await this.#sidecars.allUp()
    for (const model of this.#models) if ('calm' in model) await model.calm()
  }

  /** Returns the differences and the running calls. A running call may still change volumes and snapshots. */
  async #differences(): Promise<readonly Finding[]> {
    const before = this.#backEnd.running
    const differences = (await Promise.all(this.#models.map((model) => model.differences()))).flat()
    const running = new Set([...before, ...this.#backEnd.running])
    return [...[...running].map((text) => ({ rule: 'each call ends', text })), ...differences]
  }

  #settled(): Promise<readonly Finding[]> {
    const pace = { clock, maxChecks: this.#maxChecks, everyMs: CHECK_EVERY_MS }
    return converge(() => this.#differences(), pace)
  }

  /** Waits until the sidecars are idle. Returns the findings of the third check, if all three checks have findings. */
  async #quiet(): Promise<readonly Finding[]> {
    for (let left = 2; ; left -= 1) {
      const findings = await this.#lateWork()
      if (findings.length === 0 || left === 0) return findings
    }
  }

  async #lateWork(): Promise<readonly Finding[]> {
    const calls = this.#driver.calls.length
    const writes = (): readonly WireRequest[] =>
      this.#sidecars.gates.flatMap((gate) => gate.writes()).filter((write) => !this.#provisions.isOfOthers(write))
    const written = writes().length
    await pause(QUIET_MS)
    const late = [
      ...this.#driver.calls
        .slice(calls)
        .filter((call) => isVolumeCall(call) && !this.#provisions.repeatsLostRequest(call))
        .map(({ method }) => method),
      ...writes()
        .slice(written)
        .map(({ method, path }) => `${method} ${path}`),
    ]
    return [...late.map((text) => ({ rule: 'nothing is done when all is done', text })), ...(await this.#differences())]
  }

  /** Deletes all objects and returns a finding for each leftover. */
  async #clear(): Promise<readonly Finding[]> {
    this.#provisions.wantNothing()
    this.#snapshots.wantNothing()
    await this.#attachments.deleteAll()
    return [...(await this.#settled()), ...(await this.#attachments.deleteVolumes())]
  }

  /**
   * Returns violations of the rules that must hold at all times. Ignores overlapping calls if there are several
   * replicas, because a frozen leader cannot end its calls. Skips the Go sidecars, whose calls do overlap.
   */
  #always(): readonly Finding[] {
    if (!this.#t.ours) return []
    const findings = this.#history.replicas > 1 ? [] : overlaps(this.#driver.calls)
    try {
      for (const sidecar of this.#t.sidecars) soundLines(sidecar)
      return [...findings, ...this.#snapshots.forbiddenDeletions(), ...bursts(this.#driver.calls)]
    } catch (error) {
      return [...findings, { rule: 'log lines are whole', text: messageOf(error) }]
    }
  }
}

function argsOf({ apps, replicas, listing, finalizes, variant }: History, isOurs: boolean): readonly string[] {
  const finalize = finalizes && isOurs ? ['finalize-claims'] : []
  const node = variant === 'node' ? ['node-deployment', 'node-deployment-base-delay=100ms'] : []
  const argsByApp: Readonly<Record<TestedApp, readonly string[]>> = {
    attacher: ['timeout=4s', ...(listing ? ['reconcile-sync=2s'] : [])],
    resizer: ['resize-timeout=4s', 'modify-timeout=4s'],
    provisioner: ['timeout=4s', 'snapshot-orphan-sweep-interval=1s', ...finalize, ...node],
    snapshotter: ['timeout=4s'],
  }
  const isOne = apps.length > 1
  return [
    ...RETRIES,
    ...(isOne ? [`--controllers=${apps.join()}`] : []),
    ...apps.flatMap((app) => argsByApp[app].map((flag) => (isOne ? `--${app}-${flag}` : `--${flag}`))),
    ...(replicas > 1 ? ELECTION : []),
  ]
}

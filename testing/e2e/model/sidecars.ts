import { LEASES } from '@csi-sidecars/kube-types'
import { refused } from '../harness/api/api.ts'
import type { Gate } from '../harness/api/gate.ts'
import type { FaultRule } from '../harness/api/wire.ts'
import type { RunningSidecar, TestContext } from '../harness/context.ts'
import type { FakeDriver } from '../harness/driver/driver.ts'
import type { TestedApp } from '../harness/subject.ts'
import { eventually, pause } from '../harness/waiting.ts'

const RESTARTED_AFTER_MS = 200

/** The processes that `Sidecars` starts and restarts. All replicas have the same driver, arguments and environment. */
export interface SidecarsOptions {
  /** The sidecars that run in each process. */
  readonly apps: readonly TestedApp[]
  readonly driver: FakeDriver
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** The number of replicas. Each has a separate host name and a separate `Gate`, its proxy to the API server. */
  readonly replicas: number
  readonly rule: FaultRule
  /** The resources that a process reads at start. A process that watches all these resources has read all objects. */
  readonly watches: readonly string[]
  /** Called when a process ends or freezes, and again when the process runs and has read all objects. */
  readonly interrupted: () => Promise<void>
}

interface Replica {
  readonly gate: Gate
  readonly hostname: string
  sidecar: RunningSidecar | undefined
  /** True from the end of a process until the next start. */
  down: boolean
}

/** The replicas of one sidecar. A replica that ends is started again, as the kubelet does. */
export class Sidecars {
  readonly #t: TestContext
  readonly #options: SidecarsOptions
  readonly #replicas: Replica[] = []

  constructor(t: TestContext, options: SidecarsOptions) {
    this.#t = t
    this.#options = options
  }

  get gates(): readonly Gate[] {
    return this.#replicas.map(({ gate }) => gate)
  }

  async start(): Promise<void> {
    const { replicas, rule } = this.#options
    for (let nth = 0; nth < replicas; nth += 1) {
      const gate = await this.#t.gate()
      gate.rules.push(rule)
      const replica = { gate, hostname: `${this.#t.name('host')}-${nth}`, sidecar: undefined, down: true }
      this.#replicas.push(replica)
      await this.#launch(replica)
    }
  }

  /** Ends one replica as a crash does, and starts it again. */
  async kill(nth: number, forMs: number): Promise<void> {
    await this.#end(nth, 'SIGKILL')
    await pause(forMs)
    await this.up(nth)
  }

  /** Stops one replica with SIGTERM, as a rollout does. `up` starts the replica again. */
  async down(nth: number): Promise<void> {
    await this.#end(nth, 'SIGTERM')
  }

  /** Starts a stopped replica. Waits first until the old process has exited. */
  async up(nth: number): Promise<void> {
    const replica = this.#replicas[nth]
    if (replica?.down !== true) return
    await replica.sidecar?.exited
    if (replica.down) await this.#launch(replica)
  }

  async allUp(): Promise<void> {
    for (const nth of this.#replicas.keys()) await this.up(nth)
  }

  /** Stops one replica for this time, as on an overloaded machine. */
  async freeze(nth: number, forMs: number): Promise<void> {
    const sidecar = this.#replicas[nth]?.sidecar
    await this.#options.interrupted()
    await sidecar?.freeze(forMs)
    await this.#options.interrupted()
  }

  async stop(): Promise<void> {
    for (const nth of this.#replicas.keys()) await this.#end(nth, 'SIGKILL')
  }

  async #end(nth: number, signal: NodeJS.Signals): Promise<void> {
    const replica = this.#replicas[nth]
    if (replica === undefined || replica.down) return
    await this.#options.interrupted()
    replica.down = true
    replica.sidecar?.signal(signal)
    await replica.sidecar?.end()
    await this.#releaseLeases(replica)
  }

  /** Releases the Leases of an ended process. The other replica leads soon, however long the lease duration is. */
  async #releaseLeases({ hostname }: Replica): Promise<void> {
    if (this.#options.replicas === 1) return
    for (const { metadata, spec } of await this.#t.api.list(LEASES, this.#t.namespace)) {
      if (spec?.holderIdentity !== hostname) continue
      const { namespace, name = '', resourceVersion } = metadata ?? {}
      const body = { metadata: { resourceVersion }, spec: { holderIdentity: '' } }
      await refused(this.#t.api.merge(LEASES, { namespace, name }, body))
    }
  }

  async #launch(replica: Replica): Promise<void> {
    const { apps, driver, args, env, replicas } = this.#options
    const { gate, hostname, sidecar: before } = replica
    replica.down = false
    if (before !== undefined) await this.#options.interrupted()
    const named = replicas > 1 ? { hostname } : {}
    const app = apps.length > 1 ? ({ app: 'both', role: 'pod' } as const) : { app: apps[0] ?? this.#t.app }
    const setup = { ...app, gate, driver, args, env, ...named, ...(before === undefined ? {} : { user: before.user }) }
    const sidecar = await this.#t.sidecar(setup)
    replica.sidecar = sidecar
    void sidecar.exited.then(() => this.#ended(replica, sidecar)).catch(() => undefined)
    if (before !== undefined) void this.#firstList(replica, sidecar).catch(() => undefined)
  }

  async #firstList({ gate }: Replica, sidecar: RunningSidecar): Promise<void> {
    const before = gate.requests.length
    // Only watches that began after the start count. Other open watches may belong to the previous process.
    const isNew = (plural: string): boolean =>
      gate.requests.slice(before).some(({ watch, resource }) => watch && resource === plural)
    const isRead = (): boolean => this.#options.watches.every((plural) => isNew(plural) && gate.openWatches(plural) > 0)
    let ended = false
    void sidecar.exited.then(() => {
      ended = true
    })
    await eventually('a list', () => ended || isRead(), { within: Number.POSITIVE_INFINITY })
    await this.#options.interrupted()
  }

  async #ended(replica: Replica, sidecar: RunningSidecar): Promise<void> {
    if (replica.down || replica.sidecar !== sidecar) return
    replica.down = true
    await this.#options.interrupted()
    await this.#releaseLeases(replica)
    await pause(RESTARTED_AFTER_MS)
    if (replica.down && replica.sidecar === sidecar) await this.#launch(replica)
  }
}

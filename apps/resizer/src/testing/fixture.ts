import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { Backlog, runTerm } from '@csi-sidecars/controller'
import type { EventTarget, Recorder } from '@csi-sidecars/events'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import { resizerControllers } from '../app.ts'
import { projectClaim } from '../caches/claim.ts'
import { projectClass } from '../caches/open.ts'
import { volumeProjection } from '../caches/volume.ts'
import type { ResizerParts, ResizerSettings } from '../parts.ts'
import { CLAIM_REF, DRIVER } from './builders.ts'
import { FakeCluster } from './fake-cluster.ts'
import { FakeDriver } from './fake-driver.ts'
import { FakeInformer } from './fake-informer.ts'

/** The settings of a resizer under test and of its driver. They apply to each process that the fixture starts. */
export interface FixtureOptions {
  /** Default: `DRIVER`. */
  readonly driverName?: string
  readonly settings?: Partial<ResizerSettings>
  /** Default: `driver`. */
  readonly expands?: ResizerParts['expands']
  /** False if the resizer modifies no volumes. Default: true. */
  readonly modifies?: boolean
}

/** An event that the resizer has recorded, and the object that it concerns. */
export interface SeenEvent {
  readonly target: EventTarget
  readonly type: string
  readonly reason: string
  readonly message: string
}

const SETTINGS: Omit<ResizerSettings, 'driverName'> = {
  workers: 10,
  retryStartMs: 1_000,
  retryMaxMs: 300_000,
  resizeTimeoutMs: 10_000,
  modifyTimeoutMs: 10_000,
  handleInUse: true,
  annotateFsResize: true,
  extraMetadata: false,
  nodeDeployment: false,
}

/** A fake API server, a fake driver and one resizer. The test controls the time and all answers. */
export class ResizerFixture {
  readonly clock = new FakeClock({ now: Date.UTC(2026, 0, 1) })
  readonly cluster = new FakeCluster(this.clock)
  readonly driver: FakeDriver
  readonly log: RecordingLogger = recordingLogger()
  readonly events: SeenEvent[] = []
  /** The writes to the API server and the calls to the driver, in their order. */
  readonly wire: { readonly target: string; readonly body: unknown }[] = []
  readonly #options: FixtureOptions
  #process: Process | undefined

  constructor(options: FixtureOptions = {}) {
    this.#options = options
    this.driver = new FakeDriver(options.driverName ?? DRIVER, () => this.clock.monotonic())
    const { driver, wire, cluster } = this
    cluster.onRequest = ({ verb, resource, body }) => {
      if (verb === 'patch') wire.push({ target: resource, body })
    }
    driver.onCall = ({ method, request }) => void wire.push({ target: method, body: request })
  }

  /** Starts the process, with caches that hold the current objects. */
  async start(): Promise<void> {
    this.#process = newProcess(this, this.#options)
    await this.clock.settle()
  }

  /** Ends the process at once. Running work is lost. */
  async kill(): Promise<void> {
    await this.#process?.kill()
    this.#process = undefined
    await this.clock.settle()
  }

  /** Refuses later writes and calls, as after a lost lease. Running work is not aborted. */
  loseLease(): void {
    this.#process?.loseLease()
  }

  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  get process(): Process {
    if (this.#process === undefined) throw new Error('the process is not running')
    return this.#process
  }

  get caches(): Process['caches'] {
    return this.process.caches
  }

  get claim(): PersistentVolumeClaim {
    const claim = this.cluster.find(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
    if (claim === undefined) throw new Error('the claim is gone')
    return claim
  }

  /** Raises or lowers the requested size of the claim. */
  async request(size: string): Promise<void> {
    const change = { spec: { resources: { requests: { storage: size } } } }
    this.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, change)
    await this.clock.settle()
  }

  /** Returns the names of the recorded writes and calls in their order, and clears the record. */
  takeWire(): readonly string[] {
    return this.wire.splice(0).map(({ target }) => target)
  }

  /** Returns the recorded events, such as `Warning VolumeResizeFailed: message`, and clears the record. */
  takeEvents(): readonly string[] {
    return this.events.splice(0).map(({ type, reason, message }) => `${type} ${reason}: ${message}`)
  }

  /** Returns the recorded requests about pods, and clears the record of all requests. */
  takePodRequests(): readonly string[] {
    return this.cluster.requests
      .splice(0)
      .flatMap(({ verb, resource, name }) => (resource === 'pods' ? [`${verb} ${name}`] : []))
  }

  /** Lets `seconds` pass. Returns the times of the calls to the driver, in seconds from the start of this time. */
  async callsWithin(seconds: number): Promise<readonly number[]> {
    const start = this.clock.monotonic()
    this.driver.calls.splice(0)
    await this.clock.advance(seconds * 1000)
    return this.driver.calls.map(({ at }) => Math.round((at - start) / 1000))
  }

  /** The error lines since the start. */
  get errors(): readonly string[] {
    const lines = this.log.lines.filter(({ level }) => level === 'error')
    return lines.map(({ message, error }) => `${message}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

type Process = ReturnType<typeof newProcess>

function newProcess({ clock, cluster, driver, log, events }: ResizerFixture, options: FixtureOptions) {
  const { settings, expands = 'driver', modifies = true } = options
  const project = volumeProjection(driver.name)
  const caches = {
    claims: new FakeInformer(cluster, PERSISTENT_VOLUME_CLAIMS, (pvc) => projectClaim(pvc)),
    volumes: new FakeInformer(cluster, PERSISTENT_VOLUMES, (pv) => project(pv)),
    classes: new FakeInformer(cluster, VOLUME_ATTRIBUTES_CLASSES, projectClass),
  }
  const recorder: Recorder = {
    event: (target, text) => void events.push({ target, ...text }),
    flush: async () => undefined,
  }
  const stop = new AbortController()
  const metrics = new Metrics()
  const backlog = new Backlog({ driver: driver.name, clock, metrics })
  const opened: ResizerParts = {
    settings: { ...SETTINGS, driverName: driver.name, ...settings },
    expands,
    client: cluster.client,
    driver,
    ...caches,
    classes: modifies ? caches.classes : undefined,
    recorder,
    backlog,
    clock,
    log,
  }
  const lost = new AbortController()
  const assertLeading = (): void => {
    stop.signal.throwIfAborted()
    lost.signal.throwIfAborted()
  }
  const signals = { stop: stop.signal, cancelRuns: stop.signal }
  const lead = { ...signals, assertLeading, soleSince: clock.monotonic() }
  const queues = new QueueMetrics(metrics, clock)
  const done = runTerm(lead, resizerControllers(opened, lead), { clock, driver, queues, backlog })
  const kill = (): Promise<void> => {
    stop.abort(new CancelledError('killed'))
    for (const cache of Object.values(caches)) cache.close()
    return done
  }
  return { caches, backlog, metrics, kill, loseLease: () => lost.abort(new CancelledError('the lease is lost')) }
}

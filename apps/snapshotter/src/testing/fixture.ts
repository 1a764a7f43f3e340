import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { Backlog, runTerm } from '@csi-sidecars/controller'
import { RpcError } from '@csi-sidecars/csi'
import type { EventTarget } from '@csi-sidecars/events'
import { createInformer, type Informer } from '@csi-sidecars/informer'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  type KubeObject,
  type ObjectRef,
  type Resource,
  resourcePath,
  VOLUME_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import { UnreferencedReport } from '@csi-sidecars/sidecar'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { FakeApi, type InFlight, type InProcessClient, StepGate } from '@csi-sidecars/testkit'
import { snapshotterControllers } from '../app.ts'
import { CONTENT_INDEXES, type Content, projectClass } from '../caches/content.ts'
import { type ContentKind, GROUP, SNAPSHOT } from '../content/kinds.ts'
import type { KindCaches, SnapshotterParts, SnapshotterSettings } from '../parts.ts'
import { DRIVER } from './objects.ts'
import { GatedDriver, type Script, type SeenCall, Storage } from './storage.ts'

const SETTINGS: SnapshotterSettings = {
  driverName: DRIVER,
  workers: 10,
  retryStartMs: 1_000,
  retryMaxMs: 300_000,
  timeoutMs: 60_000,
  extraMetadata: false,
  parameterTemplates: false,
  onEachNode: false,
  unreferencedIntervalMs: 0,
  unreferencedHandleFilter: '',
  snapshotNaming: { prefix: 'snapshot', uidLength: -1 },
  groupNaming: { prefix: 'groupsnapshot', uidLength: -1 },
}

/**
 * The settings of all snapshotter processes of a fixture, and the objects that exist before the first process starts.
 */
export interface FixtureOptions {
  readonly settings?: Partial<SnapshotterSettings>
  readonly objects?: readonly (readonly [Resource<KubeObject>, KubeObject])[]
}

/** A fake cluster and driver, with at most one snapshotter process at a time. */
export class Fixture {
  readonly clock = new FakeClock({ now: Date.UTC(2026, 0, 1) })
  readonly api: FakeApi<ApiError>
  readonly storage = new Storage()
  readonly scripts = new Map<string, Script>()
  /** Calls to the driver and writes to the API server, in the order in which the snapshotter sent them. */
  readonly wire: string[] = []
  readonly calls: SeenCall[] = []
  readonly events: { readonly target: EventTarget; readonly text: string }[] = []
  readonly log: RecordingLogger = recordingLogger()
  /** The errors that the API server returns for the next writes, by the name of the write. */
  readonly refusals = new Map<string, ApiError[]>()
  process: Process | undefined
  readonly #settings: SnapshotterSettings

  constructor({ settings, objects = [] }: FixtureOptions = {}) {
    this.#settings = { ...SETTINGS, ...settings }
    this.api = new FakeApi({ errorOf: apiErrorOf, clock: this.clock })
    for (const [resource, object] of objects) this.api.store(resource, object)
  }

  /** Starts a snapshotter whose requests are answered at once, and whose watch events arrive at once. */
  static async running(options: FixtureOptions = {}): Promise<Fixture> {
    const fixture = new Fixture(options)
    await fixture.start()
    return fixture
  }

  async start(): Promise<void> {
    this.process = new Process(this, this.#settings)
    this.process.answerAtOnce()
    await this.clock.settle()
  }

  /** Starts a snapshotter that stops at each request and each call. */
  async startStepwise(): Promise<void> {
    this.process = new Process(this, this.#settings)
    await this.clock.settle()
  }

  kill(): void {
    this.process?.kill()
    this.process = undefined
  }

  /** Returns the running process. Throws if no process runs. */
  get running(): Process {
    if (this.process === undefined) throw new Error('no process runs')
    return this.process
  }

  async storeObject(resource: Resource<KubeObject>, object: KubeObject): Promise<void> {
    this.api.store(resource, object)
    await this.clock.settle()
  }

  async edit(resource: Resource<KubeObject>, name: string, body: object): Promise<void> {
    this.api.edit(resource, { name }, body)
    await this.clock.settle()
  }

  async delete(resource: Resource<KubeObject>, name: string): Promise<void> {
    this.api.delete(resource, { name })
    await this.clock.settle()
  }

  /** Removes all finalizers of an object, as another client might, and deletes the object. */
  async strip(resource: Resource<KubeObject>, name: string): Promise<void> {
    await this.edit(resource, name, { metadata: { finalizers: null } })
    await this.delete(resource, name)
  }

  find<T>(resource: Resource<T>, ref: ObjectRef): T | undefined {
    return this.api.server.get(resource, ref)
  }

  takeWire(): readonly string[] {
    return this.wire.splice(0)
  }

  takeEvents(): readonly string[] {
    return this.events.splice(0).map(({ text }) => text)
  }

  takeCalls(method: string): readonly SeenCall[] {
    return this.calls.splice(0).filter((call) => call.method === method)
  }
}

/** One process of the snapshotter. The test answers each of its requests and delivers the watch events. */
export class Process {
  readonly gate = new StepGate()
  readonly driver: GatedDriver
  readonly backlog: Backlog
  readonly metrics = new Metrics()
  readonly unreferenced = new UnreferencedReport({ driver: DRIVER, metrics: this.metrics })
  readonly ended: Promise<void>
  readonly resync: () => void
  /** Returns the cached state of this VolumeSnapshotContent. Undefined if the cache does not have its UID. */
  readonly cached: (object: KubeObject) => Content | undefined
  /** Makes the cache of contents reject the answers to reads and writes, as it does for contents of another node. */
  readonly rejectReads: () => void
  readonly #client: InProcessClient<ApiError>
  readonly #server: Fixture['api']['server']
  readonly #stop = new AbortController()
  readonly #cancelRuns = new AbortController()
  readonly #caches = new AbortController()
  #leads = true

  constructor(fixture: Fixture, settings: SnapshotterSettings) {
    const { api, clock, log, events } = fixture
    const client = api.newClient({ gate: this.gate, watchesLag: true })
    this.#client = client
    this.#server = api.server
    this.driver = new GatedDriver({ storage: fixture.storage, gate: this.gate }, fixture.scripts, (call) => {
      fixture.calls.push(call)
      fixture.wire.push(call.method)
    })
    const pass = this.gate.pass.bind(this.gate)
    this.gate.pass = (outgoing, effect, passing) => {
      const { request } = outgoing
      if (request?.verb !== 'patch') return pass(outgoing, effect, passing)
      const write = writeText(request.resource, request.body)
      fixture.wire.push(write)
      const serve = async (): ReturnType<typeof effect> => {
        const refusal = fixture.refusals.get(write)?.shift()
        if (refusal !== undefined) throw refusal
        return effect()
      }
      return pass(outgoing, serve, passing)
    }
    const [snapshots, groups] = [cachesOf(SNAPSHOT, { client, clock, log }), cachesOf(GROUP, { client, clock, log })]
    const informers: readonly Informer<unknown, never>[] = [snapshots, groups].flatMap(Object.values)
    this.resync = () => {
      for (const informer of informers) if (informer.store.synced) informer.resync()
    }
    this.rejectReads = () => {
      snapshots.contents.storeAnswer = () => undefined
    }
    this.cached = ({ metadata }) => {
      const content = snapshots.contents.store.get(metadata?.name ?? '')
      return content?.uid === metadata?.uid ? content : undefined
    }
    this.backlog = new Backlog({ driver: DRIVER, clock, metrics: this.metrics })
    const opened: SnapshotterParts = {
      settings,
      client,
      driver: this.driver.driver,
      snapshots,
      groups,
      recorder: {
        event: (target, { type, reason, message }) => {
          events.push({ target, text: `${type} ${reason}: ${message}` })
        },
        flush: async () => undefined,
      },
      clock,
      backlog: this.backlog,
      unreferenced: this.unreferenced,
      log,
    }
    const assertLeading = (): void => {
      if (!this.#leads) throw new CancelledError('this process does not lead')
    }
    const signals = { stop: this.#stop.signal, cancelRuns: this.#cancelRuns.signal }
    const lead = { ...signals, assertLeading, soleSince: clock.monotonic() }
    const options = { clock, driver: opened.driver, backlog: this.backlog }
    const term = runTerm(lead, snapshotterControllers(opened, lead), options)
    const running = informers.map((informer) => informer.run(this.#caches.signal))
    this.ended = term.then(async () => {
      this.#caches.abort(new CancelledError('the process ends'))
      await Promise.all(running)
    })
  }

  /** Answers all later requests and calls at once, and delivers changes at once. */
  answerAtOnce(): void {
    this.#client.watchesLag = false
    this.gate.open()
  }

  /** Makes the watches withhold all later changes. */
  lag(): void {
    this.#client.watchesLag = true
  }

  deliver(count?: number): void {
    this.#client.deliver(undefined, count)
  }

  /** Loses the withheld changes of snapshot contents. The API server has forgotten them, so the caches list again. */
  loseChanges(): void {
    this.#server.compact()
    this.#client.loseDelayed(VOLUME_SNAPSHOT_CONTENTS)
  }

  /** False from the end of a watch of snapshot contents until the next one. */
  get watchesContents(): boolean {
    const path = resourcePath(VOLUME_SNAPSHOT_CONTENTS, {})
    return [...this.#client.watches].some((watch) => watch.path.startsWith(path))
  }

  flight(label: string): InFlight | undefined {
    return this.gate.inFlight.find((each) => each.label.startsWith(label))
  }

  /** Stops the controllers, which begin no further runs. Current runs continue to their end. */
  stop(): void {
    this.#stop.abort(new CancelledError('asked to stop'))
  }

  depose(): void {
    this.#leads = false
    this.stop()
    this.#cancelRuns.abort(new CancelledError('the lease is lost'))
  }

  /** Kills the process. Requests that have not taken effect yet are dropped. */
  kill(): void {
    this.gate.close()
  }
}

type Common = Pick<Parameters<typeof createInformer>[0], 'client' | 'clock' | 'log'>

function cachesOf(kind: ContentKind, common: Common): KindCaches {
  const resyncMs = 0
  return {
    contents: createInformer({
      ...common,
      resource: kind.resource,
      project: kind.project(DRIVER),
      indexes: CONTENT_INDEXES,
      resyncMs,
    }),
    classes: createInformer({ ...common, resource: kind.classes, project: projectClass, resyncMs }),
  }
}

/** Returns the purpose of a patch: `addBeingCreated`, `removeBeingCreated`, `status`, `error`, `clear` or `release`. */
function writeText(label: string, body: unknown): string {
  const text = JSON.stringify(body)
  if (label.endsWith('/status')) {
    if (text.includes('"error":{')) return 'error'
    return text.includes('andle":null') ? 'clear' : 'status'
  }
  if (text.includes('being-created":"yes"')) return 'addBeingCreated'
  return text.includes('being-created":null') ? 'removeBeingCreated' : 'release'
}

/** Returns a script that fails a call to the driver with this code. */
export function failing(code: number, message = 'no'): Script {
  return () => {
    throw new RpcError(code, message)
  }
}

export function apiError(code: number, reason: string, message: string): ApiError {
  return new ApiError({ code, reason, message })
}

import { CancelledError, type Clock } from '@csi-sidecars/base'
import { Backlog, runTerm } from '@csi-sidecars/controller'
import { createInformer, type Informer } from '@csi-sidecars/informer'
import type { ApiError } from '@csi-sidecars/kube-client'
import type { Resource } from '@csi-sidecars/kube-types'
import { UnreferencedReport } from '@csi-sidecars/sidecar'
import { Metrics } from '@csi-sidecars/telemetry'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { type FakeApi, type InProcessClient, StepGate } from '@csi-sidecars/testkit'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import { openCaches } from '../../caches/open.ts'
import { provisionerControllers } from '../../controllers.ts'
import { ProvisionMetrics } from '../../metrics.ts'
import type { ProvisionerParts, ProvisionerSettings } from '../../parts.ts'
import { DRIVER, type ModelDriverOptions, modelDriver } from './storage.ts'

export const CLAIM_FINALIZER = 'external-provisioner/csi-example-com'

const SETTINGS: ProvisionerSettings = {
  names: { driver: DRIVER, inTree: undefined },
  identity: '1-2-csi.example.com',
  component: 'csi.example.com_host_uuid',
  claimFinalizer: CLAIM_FINALIZER,
  finalizeClaims: false,
  workers: 4,
  retryStartMs: 1_000,
  retryMaxMs: 60_000,
  timeoutMs: 10_000,
  volumeNamePrefix: 'pvc',
  volumeNameUuidLength: -1,
  defaultFsType: '',
  extraMetadata: false,
  parameterTemplates: false,
  publishReadOnly: false,
  topology: false,
  node: undefined,
  strictTopology: false,
  immediateTopology: true,
  preventModeConversion: true,
  sweepMs: 0,
  unreferencedIntervalMs: 0,
  unreferencedHandleFilter: '',
  cloneReleaseWorkers: undefined,
  attributesClasses: true,
}

/**
 * The surroundings of one provisioner process. The test keeps `api`, `storage` and `clock` when it replaces a killed
 * process.
 */
export interface ProcessOptions extends Omit<ModelDriverOptions, 'gate'> {
  readonly api: FakeApi<ApiError>
  readonly clock: Clock
  readonly settings: Partial<ProvisionerSettings>
  /** True if the driver attaches volumes, so that the process caches VolumeAttachments. */
  readonly attaches?: boolean
}

/** One process of the provisioner. The test answers each of its requests and delivers the watch events. */
export class Process {
  readonly gate = new StepGate()
  readonly log = recordingLogger()
  /** The reasons and messages of the events so far. */
  readonly events: string[] = []
  readonly #metrics = new Metrics()
  readonly unreferenced = new UnreferencedReport({ driver: DRIVER, metrics: this.#metrics })
  readonly #client: InProcessClient<ApiError>
  readonly #stop = new AbortController()
  readonly #cancelRuns = new AbortController()
  readonly #caches = new AbortController()
  #leads = true

  constructor({ api, clock, settings, attaches = false, ...options }: ProcessOptions) {
    this.#client = api.newClient({ gate: this.gate, watchesLag: true })
    const { log, gate } = this
    const client = this.#client
    const informers: Informer<unknown, never>[] = []
    const allSettings = { ...SETTINGS, ...settings }
    const registry: Parameters<typeof openCaches>[0]['caches'] = {
      open: (_name, cache) => {
        const informer = createInformer({ ...cache, client, clock, log })
        informers.push(informer)
        return informer
      },
    }
    const caches = openCaches({ ...allSettings, caches: registry, attaches, nodes: false })
    const metrics = this.#metrics
    const recorder: ProvisionerParts['recorder'] = {
      event: (_, { reason, message }) => void this.events.push(`${reason}: ${message}`),
      flush: async () => {},
    }
    const opened: ProvisionerParts = {
      settings: allSettings,
      client,
      driver: modelDriver({ ...options, gate }),
      caches,
      recorder,
      populatorRecorder: recorder,
      capacity: undefined,
      metrics: new ProvisionMetrics(metrics),
      backlog: new Backlog({ driver: DRIVER, clock, metrics }),
      unreferenced: this.unreferenced,
      clock,
      log,
    }
    const assertLeading = (): void => {
      if (!this.#leads) throw new CancelledError('this process does not lead')
    }
    const signals = { stop: this.#stop.signal, cancelRuns: this.#cancelRuns.signal }
    const lead = { ...signals, assertLeading, soleSince: clock.monotonic() }
    const { driver, backlog } = opened
    const queues = new QueueMetrics(metrics, clock)
    void runTerm(lead, provisionerControllers(opened, lead), { clock, driver, queues, backlog }).then(() => {
      this.#caches.abort(new CancelledError('the process ends'))
    })
    for (const informer of informers) void informer.run(this.#caches.signal)
  }

  /** Delivers the events of all watches, or of the watches of one resource. */
  deliver(resource?: Resource<unknown>): void {
    this.#client.deliver(resource)
  }

  /** Makes the watches deliver each later change without a delay. */
  deliverAtOnce(): void {
    this.#client.watchesLag = false
  }

  /** Ends the leadership as a lost Lease does: no run continues, and the process sends no further request. */
  depose(): void {
    this.#leads = false
    this.#stop.abort(new CancelledError('asked to stop'))
    this.#cancelRuns.abort(new CancelledError('the lease is lost'))
  }

  /** Kills the process. A request that has not taken effect by now never will. */
  kill(): void {
    this.gate.close()
  }
}

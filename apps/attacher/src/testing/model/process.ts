import { CancelledError, type Clock } from '@csi-sidecars/base'
import { Backlog, runTerm } from '@csi-sidecars/controller'
import { createInformer } from '@csi-sidecars/informer'
import type { ApiError } from '@csi-sidecars/kube-client'
import {
  CSI_NODES,
  type KubeObject,
  PERSISTENT_VOLUMES,
  type Resource,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { type FakeApi, type InProcessClient, StepGate } from '@csi-sidecars/testkit'
import { QueueMetrics } from '@csi-sidecars/workqueue'
import { attacherControllers } from '../../app.ts'
import { attachmentProjection, BY_VOLUME } from '../../caches/attachment.ts'
import { nodeProjection } from '../../caches/open.ts'
import { volumeProjection } from '../../caches/volume.ts'
import type { AttacherSettings } from '../../term/settings.ts'
import { DRIVER, FINALIZER } from '../views.ts'
import { type AttacherModelStorage, ModelDriver, type PublishCall } from './driver.ts'

export const SETTINGS: AttacherSettings = {
  driverName: DRIVER,
  finalizer: FINALIZER,
  defaultFsType: '',
  recoverLostVolumes: false,
  workers: 4,
  maxInflightPerNode: 0,
  retryStartMs: 1_000,
  retryMaxMs: 60_000,
  timeoutMs: 15_000,
  maxEntries: 0,
  comparisonPeriodMs: 60_000,
  confirmations: 2,
  recordErrorCode: true,
}

/**
 * The surroundings of one attacher process. The test keeps `api`, `storage` and `clock` when it replaces a killed
 * process.
 */
export interface AttacherProcessOptions {
  readonly api: FakeApi<ApiError>
  readonly storage: AttacherModelStorage
  readonly clock: Clock
  readonly onCall: (call: PublishCall, process: AttacherProcess) => void
  readonly settings: Partial<AttacherSettings>
  readonly lists: boolean
}

/** One attacher process. The test decides when its requests are answered and when its watches deliver events. */
export class AttacherProcess {
  readonly gate = new StepGate()
  readonly driver: ModelDriver
  readonly log: RecordingLogger = recordingLogger()
  readonly metrics = new Metrics()
  readonly backlog: Backlog
  /** Resolves when the attacher has ended after a stop. */
  readonly ended: Promise<void>
  readonly resync: () => void
  readonly #client: InProcessClient<ApiError>
  readonly #api: FakeApi<ApiError>
  readonly #stop = new AbortController()
  readonly #cancelRuns = new AbortController()
  readonly #caches = new AbortController()
  #leads = true

  constructor({ api, storage, clock, onCall, settings, lists }: AttacherProcessOptions) {
    this.#client = api.newClient({ gate: this.gate, watchesLag: true })
    this.#api = api
    this.driver = new ModelDriver(storage, this.gate, { onCall: (call) => onCall(call, this), lists })
    const client = this.#client
    const { log } = this
    const common = { client, clock, log, resyncMs: 0 }
    const attachments = createInformer({
      ...common,
      resource: VOLUME_ATTACHMENTS,
      project: attachmentProjection(DRIVER, settings.recoverLostVolumes),
      indexes: { [BY_VOLUME]: (va) => (va.pvName === undefined ? [] : [va.pvName]) },
    })
    const volumes = createInformer({ ...common, resource: PERSISTENT_VOLUMES, project: volumeProjection(DRIVER) })
    const nodes = createInformer({ ...common, resource: CSI_NODES, project: nodeProjection(DRIVER) })
    const informers = [attachments, volumes, nodes]
    this.resync = () => {
      for (const informer of informers) {
        if (informer.store.synced) informer.resync()
      }
    }
    const assertLeading = (): void => {
      if (!this.#leads) throw new CancelledError('this process does not lead')
    }
    const backlog = new Backlog({ driver: DRIVER, clock, metrics: this.metrics })
    this.backlog = backlog
    const deps = {
      settings: { ...SETTINGS, ...settings },
      client,
      driver: this.driver.driver,
      attachments,
      attaching: { volumes, nodes },
      backlog,
      clock,
      log,
    }
    const signals = { stop: this.#stop.signal, cancelRuns: this.#cancelRuns.signal }
    const lead = { ...signals, assertLeading, soleSince: clock.monotonic() }
    const queues = new QueueMetrics(this.metrics, clock)
    const term = runTerm(lead, attacherControllers(deps, lead), { clock, driver: deps.driver, queues, backlog })
    const caches = informers.map((informer) => informer.run(this.#caches.signal))
    this.ended = term.then(async () => {
      this.#caches.abort(new CancelledError('the process ends'))
      await Promise.all(caches)
    })
  }

  /** Delivers the next watch events of one resource, or of all resources. */
  deliver(resource?: Resource<KubeObject>, count?: number): void {
    this.#client.deliver(resource, count)
  }

  /** Delivers all later watch events at once. */
  deliverAtOnce(): void {
    this.#client.watchesLag = false
  }

  /** Ends the watches of all processes. */
  endWatch(resource: Resource<KubeObject>): void {
    this.#api.server.dropWatches({ resource })
  }

  /** Stops the process: running work can end, and no other work starts. */
  stop(): void {
    this.#stop.abort(new CancelledError('asked to stop'))
  }

  /** Takes the lease away: running work must end now, and no request may leave. */
  depose(): void {
    this.#leads = false
    this.stop()
    this.#cancelRuns.abort(new CancelledError('the lease is lost'))
  }

  /** Kills the process. A request in flight that the server has not performed yet is never performed. */
  kill(): void {
    this.gate.close()
  }
}

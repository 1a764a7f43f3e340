import type { Clock } from '@csi-sidecars/base'
import { feed, type Outcome, runController, type Trigger } from '@csi-sidecars/controller'
import { controllerClient, type Driver, guardedDriver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as Rpc } from '@csi-sidecars/csi-proto'
import type { Informer } from '@csi-sidecars/informer'
import { guarded, type KubeClient } from '@csi-sidecars/kube-client'
import type { PersistentVolume, VolumeAttachment } from '@csi-sidecars/kube-types'
import { caughtUp, type Lead } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Line, perKeyExponential, type QueueMetrics, WorkQueue } from '@csi-sidecars/workqueue'
import type { Attachment } from './caches/attachment.ts'
import type { DriverNode } from './caches/node.ts'
import type { Volume } from './caches/volume.ts'
import { VolumeHolder } from './persistent-volume/hold.ts'
import { reconcileVolume } from './persistent-volume/reconcile.ts'
import { onAttachmentGone, onVolume } from './persistent-volume/triggers.ts'
import { type ComparisonOptions, compareForever } from './published-nodes/resync.ts'
import { reconcileTrivially } from './trivial/reconcile.ts'
import { attachmentLanes } from './volume-attachment/lanes.ts'
import { AttachmentMemory, type Cause } from './volume-attachment/memory.ts'
import { type AttachSettings, nodeOf, readVolume } from './volume-attachment/observe.ts'
import { type PublishClient, reconcileAttachment } from './volume-attachment/reconcile.ts'
import { causeOfNode, causeOfVolume, onAttachment } from './volume-attachment/triggers.ts'

/** Names of the queues in metrics. */
export const VA_QUEUE = 'csi-attacher-va'
export const PV_QUEUE = 'csi-attacher-pv'

export interface AttacherSettings extends AttachSettings {
  readonly workers: number
  readonly maxInflightPerNode: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** Limit of one publish, unpublish or page of ListVolumes. */
  readonly timeoutMs: number
  readonly maxEntries: number
  readonly comparisonPeriodMs: number
  readonly confirmations: number
  readonly tellErrorCode: boolean
}

export interface AttacherParts {
  readonly settings: AttacherSettings
  readonly client: KubeClient
  readonly driver: Driver
  readonly attachments: Informer<Attachment, VolumeAttachment>
  readonly queues: QueueMetrics
  readonly clock: Clock
  readonly log: Logger
}

export interface RealParts extends AttacherParts {
  readonly volumes: Informer<Volume, PersistentVolume>
  readonly nodes: Informer<DriverNode>
}

/** The queue and the end of one controller of a term. */
interface Controller {
  readonly queue: WorkQueue
  readonly run: (lead: Lead) => Promise<void>
}

/** Attaches and detaches through the driver, as long as this process leads. */
export async function leadAttacher(parts: RealParts, lead: Lead): Promise<void> {
  const { settings, attachments, volumes, nodes, driver } = parts
  const { finalizer } = settings
  if (!(await caughtUp([attachments, volumes, nodes], lead))) return
  const memory = new AttachmentMemory()
  const api = guarded(parts.client, lead.assertLeading)
  const line = attachmentLanes(settings, attachments.store, volumes.store)
  const vas = attachmentController(parts, { api, memory, line, lead })
  const pvs = volumeController(parts, api)
  const wake = (cause: Cause | undefined): void => {
    if (cause !== undefined) for (const key of memory.waitingFor(cause)) vas.queue.add(key)
  }
  const { log } = parts
  const undo = [
    // The name may come back for another attachment, which owes nothing and has not failed yet.
    attachments.subscribe((event) => {
      if (event.type !== 'deleted') return
      memory.forget(event.object.key)
      vas.queue.forget(event.object.key)
    }),
    feed(attachments, attachmentTrigger(vas.queue, finalizer, log), vas.queue),
    feed(attachments, onAttachmentGone, pvs.queue),
    feed(volumes, onVolume(settings), pvs.queue),
    volumes.subscribe((event) => wake(causeOfVolume(event))),
    nodes.subscribe((event) => wake(causeOfNode(event))),
    followDriver(driver, [vas.queue, pvs.queue], () => wake({ on: 'driver' })),
  ]
  const reprocess = (key: string, forced: boolean): void => {
    if (forced) memory.force(key)
    vas.queue.add(key)
  }
  try {
    await working(log, [vas.run(lead), pvs.run(lead), ...comparison(parts, api, reprocess, lead)])
  } finally {
    for (const each of undo) each()
  }
}

/** Marks attachments as attached, for a driver that has no attach. */
export async function leadTrivially(parts: AttacherParts, lead: Lead): Promise<void> {
  const { attachments, settings, log } = parts
  if (!(await caughtUp([attachments], lead))) return
  const api = guarded(parts.client, lead.assertLeading)
  const queue = newQueue(parts, VA_QUEUE)
  const reconcile = (key: string, signal: AbortSignal): Promise<Outcome> =>
    reconcileTrivially(key, { api, attachments, log }, signal)
  const stopFeeding = feed(attachments, attachmentTrigger(queue, settings.finalizer, log), queue)
  try {
    await working(log, [runController({ queue, workers: settings.workers, reconcile }, lead.stop, lead.cut)])
  } finally {
    stopFeeding()
    queue.shutDown()
  }
}

function attachmentTrigger(queue: WorkQueue, finalizer: string, log: Logger): Trigger<Attachment> {
  return onAttachment({
    finalizer,
    isInWork: (key) => queue.isInWork(key),
    ignored: (key) => log.v(3)?.info('Ignoring VolumeAttachment change', { VolumeAttachment: key }),
  })
}

async function working(log: Logger, parts: readonly Promise<void>[]): Promise<void> {
  log.info('Starting CSI attacher')
  await Promise.all(parts)
  log.info('Shutting CSI attacher')
}

function newQueue({ settings, queues, clock }: AttacherParts, name: string, line?: Line): WorkQueue {
  const limiter = perKeyExponential({ baseMs: settings.retryStartMs, maxMs: settings.retryMaxMs })
  return new WorkQueue({ clock, limiter, observer: queues.observe(name), ...(line && { line }) })
}

interface AttachmentControllerParts {
  readonly api: KubeClient
  readonly memory: AttachmentMemory
  readonly line: Line
  readonly lead: Lead
}

function attachmentController(parts: RealParts, own: AttachmentControllerParts): Controller {
  const { settings, attachments, volumes, nodes, clock, log } = parts
  const { api, memory } = own
  const queue = newQueue(parts, VA_QUEUE, own.line)
  const deps = {
    api,
    driver: publishClient(parts, own.lead.assertLeading),
    attachments,
    holder: new VolumeHolder({ api, volumes, finalizer: settings.finalizer }),
    memory,
    observe: async (key: string, forced: boolean, signal: AbortSignal) => {
      const va = attachments.store.get(key)
      if (va === undefined || !va.ours) return undefined
      const volume = await readVolume(va, { volumes: volumes.store, api }, signal)
      const capabilities = publishCapabilities(parts.driver)
      const owesStatus = memory.owesStatus(key)
      return { va, volume, node: nodeOf(va, nodes.store), forced, owesStatus, capabilities, settings }
    },
    tellErrorCode: settings.tellErrorCode,
    clock,
    log,
  }
  const onFailure = (key: string, cause: unknown): void =>
    log.v(2)?.info('Error processing', { VolumeAttachment: key, err: cause })
  const reconcile = (key: string, signal: AbortSignal): Promise<Outcome> => reconcileAttachment(key, deps, signal)
  return controllerOf(queue, { workers: settings.workers, reconcile, onFailure })
}

function volumeController(parts: RealParts, api: KubeClient): Controller {
  const { settings, volumes, attachments, log } = parts
  const deps = { api, volumes, attachments: attachments.store, settings, log }
  const reconcile = (key: string, signal: AbortSignal): Promise<Outcome> => reconcileVolume(key, deps, signal)
  return controllerOf(newQueue(parts, PV_QUEUE), { workers: settings.workers, reconcile })
}

function controllerOf(queue: WorkQueue, options: Omit<Parameters<typeof runController>[0], 'queue'>): Controller {
  const run = async ({ stop, cut }: Lead): Promise<void> => {
    try {
      await runController({ queue, ...options }, stop, cut)
    } finally {
      queue.shutDown()
    }
  }
  return { queue, run }
}

/** While the driver is away no key is started; when it is back, those that it left behind are tried at once. */
function followDriver(driver: Driver, queues: readonly WorkQueue[], back: () => void): () => void {
  if (driver.state === 'lost') for (const queue of queues) queue.pause()
  return driver.subscribe(({ type }) => {
    if (type === 'lost') for (const queue of queues) queue.pause()
    if (type !== 'ready') return
    back()
    for (const queue of queues) queue.resume()
  })
}

function publishCapabilities({ capabilities: { controller } }: Driver): {
  publishReadonly: boolean
  singleNodeMultiWriter: boolean
} {
  return {
    publishReadonly: controller.has(Rpc.PUBLISH_READONLY),
    singleNodeMultiWriter: controller.has(Rpc.SINGLE_NODE_MULTI_WRITER),
  }
}

function publishClient({ driver, settings }: RealParts, assertLeading: () => void): PublishClient {
  const calls = controllerClient(guardedDriver(driver, assertLeading))
  const { timeoutMs } = settings
  return {
    publish: async (request, options) => (await calls.publish(request, { ...options, timeoutMs })).publishContext,
    unpublish: async (request, options) => void (await calls.unpublish(request, { ...options, timeoutMs })),
    get lost() {
      return driver.state === 'lost'
    },
  }
}

/** Only a driver that lists volumes with the nodes they are published to can be compared with. */
export function listsPublishedNodes({ capabilities: { controller } }: Driver): boolean {
  return controller.has(Rpc.LIST_VOLUMES) && controller.has(Rpc.LIST_VOLUMES_PUBLISHED_NODES)
}

function comparison(
  parts: RealParts,
  api: KubeClient,
  reprocess: ComparisonOptions['reprocess'],
  lead: Lead,
): readonly Promise<void>[] {
  const { driver, settings, attachments, volumes, nodes, clock, log } = parts
  if (!listsPublishedNodes(driver)) return []
  const calls = controllerClient(guardedDriver(driver, lead.assertLeading))
  const { timeoutMs, maxEntries } = settings
  const options = {
    listPage: (startingToken: string, signal: AbortSignal) =>
      calls.listVolumes({ maxEntries, startingToken }, { timeoutMs, signal }),
    attachments: attachments.store,
    view: async (va: Attachment, signal: AbortSignal) => ({
      va,
      volume: await readVolume(va, { volumes: volumes.store, api }, signal),
      node: nodeOf(va, nodes.store),
    }),
    reprocess,
    driverName: settings.driverName,
    periodMs: settings.comparisonPeriodMs,
    confirmations: settings.confirmations,
    clock,
    log,
  }
  return [compareForever(options, lead.stop)]
}

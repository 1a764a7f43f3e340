import { type Controller, causesOf, type Enqueuer, keysOf, objectsOf, resetsOf } from '@csi-sidecars/controller'
import { controllerClient, guardedDriver } from '@csi-sidecars/csi'
import { announced, backoffOf, listsPublishedNodes, type TermParts } from '../parts.ts'
import { VolumeFinalizers } from '../persistent-volume/add-finalizer.ts'
import { compareForever } from '../published-nodes/resync.ts'
import { WorkLog } from '../published-nodes/work-log.ts'
import { FailureReporter } from './failure-reporter.ts'
import { attachmentLanes } from './lanes.ts'
import { AttachmentMemory } from './memory.ts'
import { nodeOf, observeAttachment, readVolume } from './observe.ts'
import { reconcileAttachment } from './reconcile.ts'
import type { AttachmentDeps, PublishClient } from './run.ts'
import { attachmentTable } from './subject.ts'
import { attachmentTraceSubject } from './trace-subject.ts'
import { causesOfNode, causesOfVolume, hasError, onAttachment, onAttachmentEnd, onDetachWanted } from './triggers.ts'

/** The name of its queue in metrics. */
export const VA_QUEUE = 'csi-attacher-va'

/** Attaches and detaches through the driver. */
export function attachmentController(parts: TermParts): Controller {
  const { settings, attachments, volumes, nodes, api, driver, clock, log } = parts
  const memory = new AttachmentMemory()
  const work = new WorkLog()
  const { published } = memory
  const { finalizer } = settings
  const line = attachmentLanes(settings, { attachments: attachments.store, volumes: volumes.store, published })
  const { eventRight: right, backlog } = parts
  const reporter = right && new FailureReporter({ api, backlog, right, driverName: settings.driverName, clock, log })
  let queue: Enqueuer | undefined
  const deps: AttachmentDeps = {
    api,
    driver: publishClient(parts),
    attachments,
    volumes: volumes.store,
    finalizers: new VolumeFinalizers({ api, volumes, finalizer }),
    finalizer,
    memory,
    observe: observeAttachment({ ...parts, memory }),
    isPlaced: (key) => line.isPlaced(key),
    wake: (cause) => queue?.wake(cause),
    enqueue: (key) => queue?.add(key),
    recordErrorCode: settings.recordErrorCode,
    clock,
    log,
  }
  return {
    name: VA_QUEUE,
    workers: line.capacity,
    backoff: backoffOf(settings),
    line,
    caches: [attachments, volumes, nodes],
    sources: [
      (started) => {
        queue = started
        return () => {}
      },
      objectsOf(attachments, ({ key, uid }) => {
        memory.forget(key)
        published.attachmentGone(uid)
      }),
      resetsOf(attachments, onDetachWanted),
      keysOf(attachments, onAttachment(finalizer, log), hasError),
      keysOf(attachments, onAttachmentEnd(published)),
      causesOf(volumes, causesOfVolume),
      causesOf(nodes, causesOfNode),
    ],
    reconcile: (key, run) => work.run(key, () => reconcileAttachment(key, deps, run)),
    traceSubject: attachmentTraceSubject(attachments.store),
    onFailure: (key, cause) => log.v(2)?.info('Error processing', { VolumeAttachment: key, err: cause }),
    pending: attachmentTable({
      attachments: attachments.store,
      volumes: volumes.store,
      nodes: nodes.store,
      memory,
      finalizer,
    }),
    callsDriver: true,
    ...announced(log),
    onComplete: (_, subject) => reporter?.completed(subject),
    alongside: allOf(
      listsPublishedNodes(driver) ? comparison(parts, memory, work) : undefined,
      reporter && ((_, stop) => reporter.run(stop)),
    ),
  }
}

type Alongside = NonNullable<Controller['alongside']>

function allOf(...parts: readonly (Alongside | undefined)[]): Alongside {
  return async (queue, stop) => void (await Promise.all(parts.map((part) => part?.(queue, stop))))
}

function publishClient({ driver, settings, assertLeading, log }: TermParts): PublishClient {
  const calls = controllerClient(guardedDriver(driver, assertLeading, log))
  const { timeoutMs } = settings
  return {
    publish: async (request, options) => (await calls.publish(request, { ...options, timeoutMs })).publishContext,
    unpublish: async (request, options) => void (await calls.unpublish(request, { ...options, timeoutMs })),
    get lost() {
      return driver.state === 'lost'
    },
  }
}

/** Compares what the API says with what the driver lists, for as long as the term lasts. */
function comparison(parts: TermParts, memory: AttachmentMemory, work: WorkLog): Alongside {
  const { driver, settings, attachments, volumes, nodes, api, assertLeading, clock, log } = parts
  const calls = controllerClient(guardedDriver(driver, assertLeading, log))
  const { timeoutMs, maxEntries } = settings
  return (queue: Enqueuer, stop) =>
    compareForever(
      {
        listPage: (startingToken, signal) => calls.listVolumes({ maxEntries, startingToken }, { timeoutMs, signal }),
        attachments: attachments.store,
        view: async (va, signal) => ({
          va,
          volume: await readVolume(va, { volumes: volumes.store, api }, signal),
          node: nodeOf(va, nodes.store),
        }),
        reprocess(key, forced) {
          if (forced) memory.force(key)
          queue.add(key)
        },
        workSince: () => work.since(),
        driverName: settings.driverName,
        periodMs: settings.comparisonPeriodMs,
        confirmations: settings.confirmations,
        clock,
        log,
      },
      stop,
    )
}

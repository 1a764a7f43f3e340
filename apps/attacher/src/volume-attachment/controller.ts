import {
  type Controller,
  type Enqueuer,
  enqueueOn,
  forgetDeleted,
  forgetHistoryOn,
  type Source,
  type Trigger,
  WakeFeed,
  wakeOn,
} from '@csi-sidecars/controller'
import { controllerClient, driverWhileLeading } from '@csi-sidecars/csi'
import type { Informer } from '@csi-sidecars/informer'
import { BY_VOLUME, type CachedAttachment } from '../caches/attachment.ts'
import { CallLog, compareForever } from '../published-nodes/resync.ts'
import { FailureReporter } from '../reporting/failure-reporter.ts'
import { lifecycleLogs } from '../term/lifecycle-logs.ts'
import { backoffOf } from '../term/settings.ts'
import type { AttacherTerm } from '../term/term.ts'
import { watchUndone } from '../term/undone-source.ts'
import { recordUndone } from '../term/undone-write.ts'
import { nodeOf, readVolume } from '../volumes/volume-view.ts'
import { hasStaleError } from './checks.ts'
import { ATTACHMENT_EVENTS } from './events.ts'
import { attachmentLanes } from './lanes.ts'
import { AttachmentMemory } from './memory.ts'
import { listsPublishedNodes, observeAttachment, viewOf } from './observe.ts'
import { attachmentPendingTable, attachmentTraceSubject } from './pending.ts'
import { reconcileAttachment } from './reconcile.ts'
import type { AttachmentDeps, PublishClient } from './run.ts'
import {
  hasError,
  hasLostFinalizer,
  isStatusReverted,
  onAttachment,
  onAttachmentEnd,
  onDetachWanted,
  onVolumeAdded,
  wakesOnNode,
  wakesOnVolume,
  wakesOnVolumeGone,
} from './triggers.ts'
import type { AttachmentWakeKind } from './wake-events.ts'

/** The name of the queue of VolumeAttachments in metrics. */
export const VA_QUEUE = 'csi-attacher-va'

/** Returns the controller that attaches and detaches volumes through the driver. */
export function attachmentController(term: AttacherTerm): Controller<AttachmentWakeKind> {
  const { settings, attachments, volumes, nodes, api, driver, clock, log } = term
  const memory = new AttachmentMemory()
  const backoff = backoffOf(settings)
  const work = new CallLog()
  const { finalizer } = settings
  const lanes = attachmentLanes(settings, { attachments: attachments.store, volumes: volumes.store, memory })
  const { eventPermission: permission, backlog } = term
  const reporter =
    permission &&
    new FailureReporter({
      api,
      backlog,
      permission,
      driverName: settings.driverName,
      texts: ATTACHMENT_EVENTS,
      clock,
      log,
    })
  const attachmentsOf = (volume: string): readonly CachedAttachment[] => attachments.store.byIndex(BY_VOLUME, volume)
  const unpublishes = new WakeFeed<'unpublish'>()
  let queue: Enqueuer | undefined
  const deps: AttachmentDeps = {
    api,
    driver: publishClient(term),
    attachments,
    volumes: volumes.store,
    finalizers: term.finalizers,
    finalizer,
    memory,
    observe: observeAttachment({ ...term, memory }),
    placementUnchanged: (key) => lanes.placementUnchanged(key),
    wake: (event) => unpublishes.wake(event),
    enqueue: (key) => queue?.add(key),
    recordErrorCode: settings.recordErrorCode,
    clock,
    log,
  }
  return {
    name: VA_QUEUE,
    workers: lanes.capacity,
    backoff,
    order: lanes,
    caches: [attachments, volumes, nodes],
    sources: [
      (started) => {
        queue = started
        return () => {}
      },
      forgetDeleted(attachments, (va) => memory.forget(va)),
      forgetHistoryOn(attachments, onDetachWanted),
      watchUndone(attachments, isStatusReverted, (va) =>
        memory.update(va, { statusReverted: recordUndone(memory.recordOf(va).statusReverted, { backoff, clock }) }),
      ),
      watchUndone(
        attachments,
        (event) => hasLostFinalizer(event, finalizer),
        (va) =>
          memory.update(va, {
            finalizerRemoved: recordUndone(memory.recordOf(va).finalizerRemoved, { backoff, clock }),
          }),
      ),
      enqueueOn(attachments, onAttachment(finalizer, log), hasError),
      enqueueOn(attachments, onAttachmentEnd(memory)),
      enqueueOnLater(volumes, onVolumeAdded(attachmentsOf)),
    ],
    wakers: {
      volume: { object: 'PersistentVolume', reason: 'VolumeNotUsable', source: wakeOn(volumes, wakesOnVolume) },
      volumeGone: {
        object: 'the deletion of PersistentVolume',
        reason: 'VolumeNotUsable',
        source: wakeOn(volumes, wakesOnVolumeGone),
      },
      node: { object: 'CSINode', reason: 'DriverNotOnNode', source: wakeOn(nodes, wakesOnNode) },
      unpublish: { object: 'a detach of volume', reason: 'VolumeOrNodeBusy', source: unpublishes.source },
    },
    reconcile: (key, run) => work.run(key, run, () => reconcileAttachment(key, deps, run)),
    traceSubject: attachmentTraceSubject(attachments.store),
    onFailure: (key, cause) => log.v(2)?.info('Error processing', { VolumeAttachment: key, err: cause }),
    pending: attachmentPendingTable({
      attachments: attachments.store,
      memory,
      viewOf: (va) => viewOf(va, { ...term, memory }),
    }),
    callsDriver: true,
    ...lifecycleLogs(log),
    onComplete: (_, subject) => reporter?.completed(subject),
    alongside: runAll(
      listsPublishedNodes(driver) ? comparison(term, memory, work) : undefined,
      reporter && ((_, stop) => reporter.run(stop)),
    ),
  }
}

/** Returns a source that enqueues the keys of a trigger, but ignores objects that are already cached. */
function enqueueOnLater<T>(informer: Pick<Informer<T, never>, 'subscribe'>, trigger: Trigger<T>): Source {
  return (queue) =>
    informer.subscribe((event) => {
      for (const key of trigger(event)) queue.add(key)
    })
}

type Alongside = NonNullable<Controller['alongside']>

function runAll(...tasks: readonly (Alongside | undefined)[]): Alongside {
  return async (queue, stop) => void (await Promise.all(tasks.map((task) => task?.(queue, stop))))
}

function publishClient({ driver, settings, assertLeading, log }: AttacherTerm): PublishClient {
  const calls = controllerClient(driverWhileLeading(driver, assertLeading, log))
  const { timeoutMs } = settings
  return {
    publish: async (request, options) => (await calls.publish(request, { ...options, timeoutMs })).publishContext,
    unpublish: async (request, options) => void (await calls.unpublish(request, { ...options, timeoutMs })),
    get lost() {
      return driver.state === 'lost'
    },
  }
}

/** Returns the comparison of the attachments with the driver's listing, which runs while this process leads. */
function comparison(term: AttacherTerm, memory: AttachmentMemory, work: CallLog): Alongside {
  const { settings, attachments, volumes, nodes, api, clock, log } = term
  const { timeoutMs, maxEntries } = settings
  const calls = controllerClient(driverWhileLeading(term.driver, term.assertLeading, log))
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
        reprocess(va, listing) {
          if (listing !== undefined) memory.update(va, { listing })
          queue.add(va.key)
        },
        hasStaleError: (va) => hasStaleError(va, settings.finalizer),
        callsSince: () => work.since(),
        driverName: settings.driverName,
        periodMs: settings.comparisonPeriodMs,
        confirmations: settings.confirmations,
        clock,
        log,
      },
      stop,
    )
}

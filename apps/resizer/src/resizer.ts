import { aborted, type Clock } from '@csi-sidecars/base'
import { feed, type Outcome, runController } from '@csi-sidecars/controller'
import { controllerClient, type Driver, guardedDriver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { Recorder } from '@csi-sidecars/events'
import type { Informer } from '@csi-sidecars/informer'
import { guarded, type KubeClient } from '@csi-sidecars/kube-client'
import { caughtUp, type Lead } from '@csi-sidecars/sidecar'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'
import { type Line, perKeyExponential, type QueueMetrics, WorkQueue } from '@csi-sidecars/workqueue'
import { claimRef } from './caches/claim.ts'
import { MODIFY_STATUS } from './caches/names.ts'
import type { Informers } from './caches/open.ts'
import type { ClaimDeps } from './claim-run.ts'
import { ClaimTurns } from './claim-turns.ts'
import { ModifyMemory } from './modify/memory.ts'
import { reconcileModify } from './modify/reconcile.ts'
import type { ModifyClient } from './modify/run.ts'
import { onClaim as onClaimForModify } from './modify/triggers.ts'
import { PreferenceLine } from './preference-line.ts'
import type { ExpandClient } from './resize/expand.ts'
import { InUse } from './resize/in-use.ts'
import { ResizeMemory } from './resize/memory.ts'
import { reconcileResize } from './resize/reconcile.ts'
import { onClaim as onClaimForResize } from './resize/triggers.ts'
import type { Waiting } from './waiting.ts'

export interface ResizerSettings {
  readonly driverName: string
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** Limits of one expansion and of one modification. */
  readonly resizeTimeoutMs: number
  readonly modifyTimeoutMs: number
  readonly handleInUse: boolean
  readonly annotateFsResize: boolean
  readonly extraMetadata: boolean
}

export interface ResizerParts extends Informers {
  readonly settings: ResizerSettings
  /** Who expands volumes; undefined: nobody. */
  readonly expands: 'driver' | 'node' | undefined
  readonly client: KubeClient
  readonly driver: Driver
  readonly recorder: Recorder
  readonly queues: QueueMetrics
  readonly clock: Clock
  readonly log: Logger
}

/** One controller of a term. */
interface Controller {
  readonly queue: WorkQueue
  readonly waiting: Waiting
  /** The caches that its decisions read. */
  readonly caches: readonly Pick<Informer<unknown, never>, 'caughtUp'>[]
  readonly calls: boolean
  readonly began: string
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Outcome>
  /** Begins to listen; the caches are filled. Returns what ends it. */
  readonly listen: () => readonly (() => void)[]
}

/** Expands and modifies volumes through the driver, as long as this process leads. */
export async function leadResizer(parts: ResizerParts, lead: Lead): Promise<void> {
  const { client, claims, volumes, recorder, clock, log } = parts
  const common = {
    api: guarded(client, lead.assertLeading),
    claims,
    volumes,
    turns: new ClaimTurns(),
    recorder: whileLeading(recorder, lead.assertLeading),
    clock,
    log,
  }
  const lines = { resize: new PreferenceLine(), modify: new PreferenceLine() }
  const controllers: Controller[] = []
  if (parts.expands !== undefined) {
    const began = (key: string): void => lines.modify.prefer(key)
    controllers.push(resizeController(parts, { common: { ...common, began }, line: lines.resize, lead }))
  }
  if (parts.classes) {
    const began = (key: string): void => lines.resize.prefer(key)
    const own = { common: { ...common, began }, line: lines.modify, lead }
    controllers.push(modifyController(parts, parts.classes, own))
  }
  if (controllers.length === 0) await aborted(lead.stop)
  await Promise.all(controllers.map((controller) => work(parts, controller, lead)))
}

/** What a process has to tell that leads no more is for the next leader to find out and tell. */
function whileLeading(recorder: Recorder, assertLeading: () => void): Pick<Recorder, 'event'> {
  return {
    event: (...occurrence) => {
      try {
        assertLeading()
      } catch {
        return
      }
      recorder.event(...occurrence)
    },
  }
}

async function work(parts: ResizerParts, controller: Controller, lead: Lead): Promise<void> {
  const { settings, log } = parts
  const { queue } = controller
  const { driverName } = settings
  if (!(await caughtUp(controller.caches, lead))) return
  log.info(controller.began, { controller: driverName })
  const undo = [...controller.listen(), ...follow(parts, controller)]
  try {
    const { reconcile } = controller
    const onFailure = (key: string, cause: unknown): void =>
      log.error(cause, 'Error syncing PVC', { PVC: objectRef(claimRef({ key })) })
    const { workers } = settings
    // Without a worker there is nothing that would go on until the end.
    if (workers <= 0) await aborted(lead.stop)
    else await runController({ queue, workers, reconcile, onFailure }, lead.stop, lead.cut)
  } finally {
    for (const each of undo) each()
    queue.shutDown()
    log.info('Shutting down external resizer', { controller: driverName })
  }
}

/** What was waited for has come: those that wait for it are tried at once. */
function follow({ volumes, driver }: ResizerParts, { queue, waiting, calls }: Controller): readonly (() => void)[] {
  const wake = (keys: readonly string[]): void => {
    for (const key of keys) queue.add(key)
  }
  const undo = [
    volumes.subscribe((event) => {
      if (event.type === 'deleted') return
      const { key: name } = event.type === 'added' ? event.object : event.after
      wake(waiting.keysOf({ on: 'volume', name }))
    }),
  ]
  if (!calls) return undo
  // While the driver is away no key is started.
  if (driver.state === 'lost') queue.pause()
  const forget = driver.subscribe(({ type }) => {
    if (type === 'lost') queue.pause()
    if (type !== 'ready') return
    wake(waiting.keysOf({ on: 'driver' }))
    queue.resume()
  })
  return [...undo, forget]
}

interface Own {
  readonly common: ClaimDeps
  readonly line: Line
  readonly lead: Lead
}

function resizeController(parts: ResizerParts, { common, line, lead }: Own): Controller {
  const { settings, claims, volumes, clock, log } = parts
  const queue = newQueue(parts, line)
  const memory = new ResizeMemory(clock, settings.retryMaxMs)
  const wake = (key: string): void => queue.add(key)
  const inUse = settings.handleInUse ? new InUse({ api: common.api, wake, clock, log }) : undefined
  const driverExpands = parts.expands === 'driver'
  const { driverName, annotateFsResize } = settings
  const deps = {
    ...common,
    driver: driverExpands ? expandClient(parts, lead.assertLeading) : undefined,
    memory,
    inUse,
    settings: { driverName, annotateFsResize, driverExpands },
  }
  return {
    queue,
    waiting: memory.waiting,
    caches: [claims, volumes],
    calls: driverExpands,
    began: 'Starting external resizer',
    reconcile: (key, signal) => reconcileResize(key, deps, signal),
    listen: () => [
      claims.subscribe((event) => {
        if (event.type !== 'deleted') return
        memory.forget(event.object.key)
        inUse?.forget(event.object)
        queue.forget(event.object.key)
      }),
      feed(
        claims,
        onClaimForResize((key) => queue.isInWork(key)),
        queue,
      ),
      () => inUse?.close(),
    ],
  }
}

function modifyController(
  parts: ResizerParts,
  classes: NonNullable<Informers['classes']>,
  { common, line, lead }: Own,
): Controller {
  const { settings, claims, volumes, clock } = parts
  const queue = newQueue(parts, line)
  const memory = new ModifyMemory(clock, settings.retryMaxMs)
  const { extraMetadata } = settings
  const driver = modifyClient(parts, lead.assertLeading)
  const deps = { ...common, driver, classes: classes.store, memory, extraMetadata }
  return {
    queue,
    waiting: memory.waiting,
    caches: [claims, volumes, classes],
    calls: true,
    began: 'Starting external resizer for modify volume',
    reconcile: (key, signal) => reconcileModify(key, deps, signal),
    listen: () => {
      // Whoever began these modifications may have ended in the middle of a call.
      for (const { key, modifying } of claims.store.values()) {
        if (modifying?.status === MODIFY_STATUS.inProgress) memory.uncertain.add(key)
      }
      return [
        claims.subscribe((event) => {
          if (event.type !== 'deleted') return
          memory.forget(event.object.key)
          queue.forget(event.object.key)
        }),
        classes.subscribe((event) => {
          if (event.type !== 'added') return
          for (const key of memory.waiting.keysOf({ on: 'class', name: event.object.key })) queue.add(key)
        }),
        feed(claims, onClaimForModify, queue),
      ]
    },
  }
}

/** Of both queues, so that their numbers add up in one series. */
export function queueName(driverName: string): string {
  return `${driverName}-pvc`
}

function newQueue({ settings, queues, clock }: ResizerParts, line: Line): WorkQueue {
  const limiter = perKeyExponential({ baseMs: settings.retryStartMs, maxMs: settings.retryMaxMs })
  return new WorkQueue({ clock, limiter, line, observer: queues.observe(queueName(settings.driverName)) })
}

function expandClient({ driver, settings }: ResizerParts, assertLeading: () => void): ExpandClient {
  const calls = controllerClient(guardedDriver(driver, assertLeading))
  const timeoutMs = settings.resizeTimeoutMs
  return {
    expand: (request, options) => calls.expand(request, { ...options, timeoutMs }),
    get singleNodeMultiWriter() {
      return driver.capabilities.controller.has(ControllerRpc.SINGLE_NODE_MULTI_WRITER)
    },
    get lost() {
      return driver.state === 'lost'
    },
  }
}

function modifyClient({ driver, settings }: ResizerParts, assertLeading: () => void): ModifyClient {
  const calls = controllerClient(guardedDriver(driver, assertLeading))
  const timeoutMs = settings.modifyTimeoutMs
  return {
    modify: (request, options) => calls.modify(request, { ...options, timeoutMs }),
    get lost() {
      return driver.state === 'lost'
    },
  }
}

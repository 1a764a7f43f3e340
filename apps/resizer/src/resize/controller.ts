import {
  type Controller,
  type Enqueuer,
  enqueueOn,
  forgetDeleted,
  forgetHistoryOn,
  type Source,
} from '@csi-sidecars/controller'
import { controllerClient, driverWhileLeading } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { ResizerClaim } from '../caches/claim.ts'
import { claimTable, claimTraceSubject } from '../claim/pending.ts'
import { unlessAtRest } from '../claim/triggers.ts'
import type { ResizerWakeKind } from '../claim/wake-events.ts'
import { claimController, type ResizerTerm, volumeWaker } from '../parts.ts'
import { isSizeAtRest } from './decide.ts'
import type { ExpandClient } from './expand.ts'
import { InUseRefusals } from './in-use.ts'
import { ResizeMemory } from './memory.ts'
import { NodeSteps } from './node-steps.ts'
import { expansionOf } from './pending.ts'
import { reconcileResize } from './reconcile.ts'
import { onClaim, onVolume, requestChanged, wasTried } from './triggers.ts'

export function resizeController(term: ResizerTerm): Controller<ResizerWakeKind> {
  const { settings, claims, volumes, expands, claimDeps, orders, clock, log } = term
  const { driverName, annotateFsResize, nodeDeployment, retryStartMs, retryMaxMs } = settings
  const memory = new ResizeMemory(clock, retryMaxMs)
  const inUse = settings.handleInUse
    ? new InUseRefusals({ api: claimDeps.api, backoff: { baseMs: retryStartMs, maxMs: retryMaxMs }, clock, log })
    : undefined
  const driverExpands = expands === 'driver'
  const deps = {
    ...claimDeps,
    notifyCallStarted: (key: string) => orders.modify.prefer(key),
    driver: driverExpands ? expandClient(term) : undefined,
    memory,
    inUse,
    settings: { driverName, annotateFsResize, driverExpands, nodeDeployment },
  }
  const nodeSteps = new NodeSteps({ claims, volumes: volumes.store, driverName, backlog: term.backlog, clock })
  const isAtRest = (claim: ResizerClaim): boolean =>
    isSizeAtRest(claim, volumes.store.get(claim.volumeName), driverName)
  const podsEnded: Source[] = inUse === undefined ? [] : [(queue) => inUse.open((key) => wake(queue, key))]
  return {
    ...claimController(term, orders.resize),
    onStart: () => log.info('Starting external resizer', { controller: driverName }),
    caches: [claims, volumes],
    sources: [
      ...podsEnded,
      () => nodeSteps.open(),
      forgetDeleted(claims, (claim) => {
        memory.forget(claim)
        inUse?.forget(claim)
      }),
      forgetHistoryOn(claims, requestChanged),
      enqueueOn(claims, unlessAtRest(onClaim, isAtRest), wasTried),
      enqueueOn(volumes, onVolume),
    ],
    wakers: { volume: volumeWaker(term) },
    reconcile: (key, run) => reconcileResize(key, deps, run),
    traceSubject: claimTraceSubject(claims.store, 'expand'),
    pending: claimTable(claims.store, (claim) =>
      expansionOf(claim, { volumes: volumes.store, driverName, inUse, nodeDeployment }),
    ),
    onComplete: (key, _, since) => nodeSteps.recordDue(key, since),
    callsDriver: driverExpands,
    onDriverReturn: () => {
      memory.infeasibleClaims.clear()
      inUse?.onDriverReturn()
    },
  }
}

/** Enqueues a claim when the object that it waited for has arrived, and resets its back-off. */
function wake(queue: Enqueuer, key: string): void {
  queue.resetBackoff(key)
  queue.add(key)
}

function expandClient({ driver, settings, assertLeading, log }: ResizerTerm): ExpandClient {
  const calls = controllerClient(driverWhileLeading(driver, assertLeading, log))
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

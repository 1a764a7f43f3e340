import { type Controller, enqueueOn, forgetDeleted, forgetHistoryOn, wakeOn } from '@csi-sidecars/controller'
import { controllerClient, driverWhileLeading } from '@csi-sidecars/csi'
import type { ResizerClaim } from '../caches/claim.ts'
import type { Informers } from '../caches/open.ts'
import { claimTable, claimTraceSubject } from '../claim/pending.ts'
import { unlessAtRest } from '../claim/triggers.ts'
import type { ModifyWakeKind } from '../claim/wake-events.ts'
import { claimController, type ResizerTerm, volumeWaker } from '../parts.ts'
import { isClassAtRest } from './decide.ts'
import { ModifyMemory } from './memory.ts'
import { modificationOf } from './pending.ts'
import { reconcileModify } from './reconcile.ts'
import type { ModifyClient } from './run.ts'
import { classChanged, onClaim, recallEarlierCalls, retryRecreatedClasses, wasTried } from './triggers.ts'

/** Returns the controller that modifies volumes by the VolumeAttributesClass that their claims request. */
export function modifyController(
  term: ResizerTerm & { readonly classes: NonNullable<Informers['classes']> },
): Controller<ModifyWakeKind> {
  const { settings, claims, volumes, classes, claimDeps, orders, clock, log } = term
  const { extraMetadata, nodeDeployment, retryMaxMs } = settings
  const memory = new ModifyMemory(clock, retryMaxMs)
  const deps = {
    ...claimDeps,
    notifyCallStarted: (key: string) => orders.resize.prefer(key),
    driver: modifyClient(term),
    classes: classes.store,
    memory,
    extraMetadata,
    nodeDeployment,
  }
  const isAtRest = (claim: ResizerClaim): boolean => isClassAtRest(claim, volumes.store.get(claim.volumeName))
  return {
    ...claimController(term, orders.modify),
    onStart: () => log.info('Starting external resizer for modify volume', { controller: settings.driverName }),
    caches: [claims, volumes, classes],
    sources: [
      recallEarlierCalls(claims, memory),
      retryRecreatedClasses(classes, claims, memory),
      forgetDeleted(claims, (claim) => memory.forget(claim)),
      forgetHistoryOn(claims, classChanged),
      enqueueOn(claims, unlessAtRest(onClaim, isAtRest), wasTried),
    ],
    wakers: {
      volume: volumeWaker(term),
      class: {
        object: 'VolumeAttributesClass',
        reason: 'VolumeAttributesClassMissing',
        source: wakeOn(classes, (event) => (event.type === 'added' ? [{ kind: 'class', name: event.object.key }] : [])),
      },
    },
    reconcile: (key, run) => reconcileModify(key, deps, run),
    traceSubject: claimTraceSubject(claims.store, 'modify'),
    pending: claimTable(claims.store, (claim) =>
      modificationOf(claim, { volumes: volumes.store, classes: classes.store, nodeDeployment }),
    ),
    callsDriver: true,
    onDriverReturn: () => memory.infeasibleClaims.clear(),
  }
}

function modifyClient({ driver, settings, assertLeading, log }: ResizerTerm): ModifyClient {
  const calls = controllerClient(driverWhileLeading(driver, assertLeading, log))
  const timeoutMs = settings.modifyTimeoutMs
  return {
    modify: (request, options) => calls.modify(request, { ...options, timeoutMs }),
    get lost() {
      return driver.state === 'lost'
    },
  }
}

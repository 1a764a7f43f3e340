import { type Controller, causesOf, keysOf, objectsOf, resetsOf, type Source } from '@csi-sidecars/controller'
import { controllerClient, guardedDriver } from '@csi-sidecars/csi'
import type { Claim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { Informers } from '../caches/open.ts'
import { claimTable } from '../claim/subject.ts'
import { claimTraceSubject } from '../claim/trace-subject.ts'
import { unlessAtRest } from '../claim/trigger.ts'
import { causesOfVolumes, claimController, type TermParts } from '../parts.ts'
import { isClassAtRest } from './decide.ts'
import { ModifyMemory } from './memory.ts'
import { reconcileModify } from './reconcile.ts'
import type { ModifyClient } from './run.ts'
import { modificationOf } from './subject.ts'
import { classChanged, onClaim, wasTried } from './triggers.ts'

/** Modifies volumes by the class that their claims want. */
export function modifyController(
  parts: TermParts & { readonly classes: NonNullable<Informers['classes']> },
): Controller {
  const { settings, claims, volumes, classes, common, orders, clock, log } = parts
  const { extraMetadata, nodeDeployment, retryMaxMs } = settings
  const memory = new ModifyMemory(clock, retryMaxMs)
  const deps = {
    ...common,
    notifyCallStarted: (key: string) => orders.resize.prefer(key),
    driver: modifyClient(parts),
    classes: classes.store,
    memory,
    extraMetadata,
    nodeDeployment,
  }
  const isAtRest = (claim: Claim): boolean => isClassAtRest(claim, volumes.store.get(claim.volumeName))
  /** The process that began these modifications may have ended in the middle of a call. */
  const begunBefore: Source = () => {
    for (const { key, modifying } of claims.store.values()) {
      if (modifying?.status === MODIFY_STATUS.inProgress) memory.uncertain.add(key)
    }
    return () => undefined
  }
  /** The driver has not refused a class that was recreated under the same name. */
  const classRemade: Source = (queue) =>
    classes.subscribe((event) => {
      if (event.type !== 'added') return
      for (const { key, modifying } of claims.store.values()) {
        if (modifying?.target !== event.object.key) continue
        memory.slow.remove(key)
        queue.renew(key)
        queue.add(key)
      }
    })
  return {
    ...claimController(parts, orders.modify),
    onStart: () => log.info('Starting external resizer for modify volume', { controller: settings.driverName }),
    caches: [claims, volumes, classes],
    sources: [
      begunBefore,
      classRemade,
      objectsOf(claims, ({ key }) => memory.forget(key)),
      causesOf(classes, (event) => (event.type === 'added' ? [{ on: 'class', name: event.object.key }] : [])),
      resetsOf(claims, classChanged),
      keysOf(claims, unlessAtRest(onClaim, isAtRest), wasTried),
      causesOfVolumes(parts),
    ],
    reconcile: (key, run) => reconcileModify(key, deps, run),
    traceSubject: claimTraceSubject(claims.store, 'modify'),
    pending: claimTable(claims.store, (claim) =>
      modificationOf(claim, { volumes: volumes.store, classes: classes.store, nodeDeployment }),
    ),
    callsDriver: true,
    onDriverReturn: () => memory.slow.clear(),
  }
}

function modifyClient({ driver, settings, assertLeading, log }: TermParts): ModifyClient {
  const calls = controllerClient(guardedDriver(driver, assertLeading, log))
  const timeoutMs = settings.modifyTimeoutMs
  return {
    modify: (request, options) => calls.modify(request, { ...options, timeoutMs }),
    get lost() {
      return driver.state === 'lost'
    },
  }
}

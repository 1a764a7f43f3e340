import {
  type Controller,
  keysOf,
  objectsOf,
  resetsOf,
  type Source,
  type Trigger,
  type WorkSubject,
  wakesOn,
} from '@csi-sidecars/controller'
import { controllerClient, driverWhileLeading } from '@csi-sidecars/csi'
import type { Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import { MODIFY_STATUS } from '../caches/names.ts'
import type { AttributesClass, Informers } from '../caches/open.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { type ClaimUpdate, claimTrigger, unlessAtRest } from '../claim/reconcile.ts'
import { claimTable, claimTraceSubject, objectOf } from '../claim/subject.ts'
import type { ModifyWakeKind } from '../claim/wake-events.ts'
import { claimController, type ResizerTerm, volumeWaker } from '../parts.ts'
import { isClassAtRest } from './decide.ts'
import { reconcileModify } from './reconcile.ts'
import { type ModifyClient, ModifyMemory } from './run.ts'

export interface ModificationSources {
  readonly volumes: Pick<Reader<ResizerVolume>, 'get'>
  readonly classes: Pick<Reader<AttributesClass>, 'get'>
  readonly nodeDeployment: boolean
}

/** Returns the controller that modifies volumes by the VolumeAttributesClass that their claims request. */
export function modifyController(
  parts: ResizerTerm & { readonly classes: NonNullable<Informers['classes']> },
): Controller<ModifyWakeKind> {
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
  const isAtRest = (claim: ResizerClaim): boolean => isClassAtRest(claim, volumes.store.get(claim.volumeName))
  /** Marks recorded modifications of earlier processes as possibly running. A process may have ended during a call. */
  const begunBefore: Source = () => {
    for (const { key, modifying } of claims.store.values()) {
      if (modifying?.status === MODIFY_STATUS.inProgress) memory.uncertain.add(key)
    }
    return () => undefined
  }
  /** Forgets the driver's refusals of a class that is recreated, and enqueues the claims that target the class. */
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
      resetsOf(claims, classChanged),
      keysOf(claims, unlessAtRest(onClaim, isAtRest), wasTried),
    ],
    wakers: {
      volume: volumeWaker(parts),
      class: {
        object: 'VolumeAttributesClass',
        reason: 'VolumeAttributesClassMissing',
        source: wakesOn(classes, (event) =>
          event.type === 'added' ? [{ kind: 'class', name: event.object.key }] : [],
        ),
      },
    },
    reconcile: (key, run) => reconcileModify(key, deps, run),
    traceSubject: claimTraceSubject(claims.store, 'modify'),
    pending: claimTable(claims.store, (claim) =>
      modificationOf(claim, { volumes: volumes.store, classes: classes.store, nodeDeployment }),
    ),
    callsDriver: true,
    onDriverReturn: () => memory.slow.clear(),
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

/** The trigger for claims that may need another class. */
export const onClaim = claimTrigger(matters)

/** The trigger for claims whose requested class has changed. It ends their back-off. */
export const classChanged: Trigger<ResizerClaim> = (event) =>
  event.type === 'updated' && event.before.wantedClass !== event.after.wantedClass ? [event.after.key] : []

/** Reports whether this or an earlier process has begun a modification that has not succeeded. */
export function wasTried({ modifying }: ResizerClaim): boolean {
  return modifying?.status === MODIFY_STATUS.inProgress || modifying?.status === MODIFY_STATUS.infeasible
}

/** Reports whether the update of a claim may require a modification. */
function matters({ before, after }: ClaimUpdate): boolean {
  if (after.phase !== 'Bound') return false
  if (before.wantedClass !== after.wantedClass || before.phase !== after.phase) return true
  return after.modifying === undefined && after.wantedClass !== after.currentClass
}

/** Describes the pending modification of a claim's volume. Returns undefined if no modification is due. */
export function modificationOf(
  claim: ResizerClaim,
  { volumes, classes, nodeDeployment }: ModificationSources,
): WorkSubject | undefined {
  const { volumeName, phase, wantedClass, currentClass, modifying } = claim
  if (volumeName === '' || phase !== 'Bound') return undefined
  const inProgress = modifying?.status === MODIFY_STATUS.inProgress
  const isRequested = wantedClass !== '' && (wantedClass !== currentClass || modifying !== undefined)
  if (!isRequested && !inProgress) return undefined
  const volume = volumes.get(volumeName)
  if (volume === undefined ? nodeDeployment : volume.kind !== 'own') return undefined
  const about = { operation: 'modify', object: objectOf(claim), volume: volumeName } as const
  if (volume === undefined) return { ...about, obstacle: 'PersistentVolumeMissing' }
  const target = inProgress && modifying.target !== '' ? modifying.target : wantedClass
  if (classes.get(target) === undefined) return { ...about, obstacle: 'VolumeAttributesClassMissing' }
  return modifying?.status === MODIFY_STATUS.infeasible ? { ...about, obstacle: 'Infeasible' } : about
}

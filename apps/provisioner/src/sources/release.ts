import {
  type Controller,
  enqueueOn,
  type Outcome,
  type Run,
  SETTLED,
  type Trigger,
  type WakeEvent,
  wakeOn,
} from '@csi-sidecars/controller'
import type { Informer, InformerEvent } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { namespacedRef, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { cloneKey, isPending, type ProvisionerClaim, sourceIndexKeys } from '../caches/claim.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import { CLAIMS_BY_SOURCE } from '../caches/open.ts'
import { StoredClaim } from '../stored-claim.ts'
import type { SourceUses } from './uses.ts'

/** Everything that the release of sources needs. */
export interface ReleaseOptions {
  readonly api: KubeClient
  readonly claims: Informer<ProvisionerClaim, PersistentVolumeClaim>
  readonly uses: SourceUses
  readonly workers: number
  readonly backoff: Controller['backoff']
  readonly log: Logger
}

/** A deleted claim waits for the end of its clones, and for the end of the CreateVolume calls that clone it. */
type ReleaseWakeKind = 'clone' | 'endOfUse'

/** Removes our finalizer from deleted claims whose volumes are no longer being cloned. */
export function cloneReleaseController(options: ReleaseOptions): Controller<ReleaseWakeKind> {
  const { claims, uses, workers, backoff } = options
  return {
    name: 'claims',
    workers,
    backoff,
    caches: [claims],
    sources: [enqueueOn(claims, onClaim)],
    wakers: {
      clone: { object: 'PersistentVolumeClaim', reason: 'StillCloned', source: wakeOn(claims, wakesOnClone) },
      endOfUse: { object: 'PersistentVolumeClaim', reason: 'StillCloned', source: uses.source },
    },
    reconcile: (key, run) => release(key, options, run),
    callsDriver: false,
  }
}

/** Wakes a source claim after a clone of it has ended, because the source may need no finalizer now. */
function wakesOnClone(event: InformerEvent<ProvisionerClaim>): readonly WakeEvent<'clone'>[] {
  if (event.type === 'updated' && event.before.phase === event.after.phase) return []
  const clone = event.type === 'updated' ? event.before : event.object
  return sourceIndexKeys(clone).map((name) => ({ kind: 'clone', name }))
}

const onClaim: Trigger<ProvisionerClaim> = (event) => {
  if (event.type === 'deleted') return []
  const claim = event.type === 'added' ? event.object : event.after
  return isReleasing(claim) ? [claim.key] : []
}

function isReleasing({ deleting, finalizers }: ProvisionerClaim): boolean {
  return deleting && finalizers?.includes(CLONE_FINALIZER) === true
}

async function release(key: string, options: ReleaseOptions, run: Run<ReleaseWakeKind>): Promise<Outcome> {
  const { api, claims, uses, log } = options
  const claim = claims.store.get(key)
  if (claim === undefined || !isReleasing(claim)) return SETTLED
  run.waitFor({ kind: 'clone', name: cloneKey(key) }, { kind: 'endOfUse', name: claim.uid })
  const stored = new StoredClaim(claim, { api, claims, signal: run.signal })
  const why = await uses.runExclusively(claim.uid, run.signal, async () => {
    let reason = whyNeeded(claim, options)
    // The reason is checked again after the claim was read, because a clone may have begun during the read.
    if (reason !== undefined) return reason
    const isCleanedUp = (): boolean => {
      reason = whyNeeded(claim, options)
      return reason === undefined
    }
    await stored.removeFinalizer({ finalizer: CLONE_FINALIZER, isCleanedUp })
    return reason
  })
  if (why === undefined) {
    run.stopWaiting()
    return SETTLED
  }
  log.v(4)?.info(why, { PVC: key })
  return { kind: 'retry', cause: new Error(why) }
}

/** Returns the reason why the source claim keeps the finalizer. Undefined if no clone needs the claim. */
function whyNeeded({ key, uid }: ProvisionerClaim, { claims, uses }: ReleaseOptions): string | undefined {
  const clone = claims.store.byIndex(CLAIMS_BY_SOURCE, cloneKey(key)).find(isPending)
  if (clone !== undefined) return `PVC '${namespacedRef(clone.key).name}' is in 'Pending' state, cloning in progress`
  return uses.isUsed(uid) ? 'a CreateVolume call that clones its volume may be running' : undefined
}

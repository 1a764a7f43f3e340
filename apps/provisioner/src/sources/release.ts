import {
  type Controller,
  causesOf,
  keysOf,
  type Outcome,
  type Run,
  SETTLED,
  type Trigger,
} from '@csi-sidecars/controller'
import type { Informer } from '@csi-sidecars/informer'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { namespacedRef, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { cloneKey, type ProvisionerClaim, sourceKeys } from '../caches/claim.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import { CLAIMS_BY_SOURCE } from '../caches/open.ts'
import { editClaim, withoutFinalizer } from '../edit.ts'

export interface ReleaseOptions {
  readonly api: KubeClient
  readonly claims: Informer<ProvisionerClaim, PersistentVolumeClaim>
  readonly workers: number
  readonly backoff: Controller['backoff']
  readonly log: Logger
}

/** Removes our finalizer from deleted claims whose volumes are no longer being cloned. */
export function cloneReleaseController(options: ReleaseOptions): Controller {
  const { claims, workers, backoff } = options
  return {
    name: 'claims',
    workers,
    backoff,
    caches: [claims],
    sources: [
      keysOf(claims, onClaim),
      // The source claim is checked again after a clone has ended, because the source may need no finalizer now.
      causesOf(claims, (event) => {
        if (event.type === 'updated' && event.before.phase === event.after.phase) return []
        const clone = event.type === 'updated' ? event.before : event.object
        return sourceKeys(clone).map((name) => ({ on: 'clone', name }))
      }),
    ],
    reconcile: (key, run) => release(key, options, run),
    callsDriver: false,
  }
}

const onClaim: Trigger<ProvisionerClaim> = (event) => {
  if (event.type === 'deleted') return []
  const claim = event.type === 'added' ? event.object : event.after
  return isReleasing(claim) ? [claim.key] : []
}

function isReleasing({ deleting, finalizers }: ProvisionerClaim): boolean {
  return deleting && finalizers?.includes(CLONE_FINALIZER) === true
}

async function release(key: string, { api, claims, log }: ReleaseOptions, run: Run): Promise<Outcome> {
  const claim = claims.store.get(key)
  if (claim === undefined || !isReleasing(claim)) return SETTLED
  const clone = claims.store.byIndex(CLAIMS_BY_SOURCE, cloneKey(key)).find(({ phase }) => phase === 'Pending')
  if (clone !== undefined) {
    run.waitFor({ on: 'clone', name: cloneKey(key) })
    const message = `PVC '${namespacedRef(clone.key).name}' is in 'Pending' state, cloning in progress`
    log.v(4)?.info(message, { PVC: key })
    return { kind: 'retry', cause: new Error(message) }
  }
  run.waitFor()
  await editClaim({ api, claims, signal: run.signal }, claim, withoutFinalizer(CLONE_FINALIZER))
  return SETTLED
}

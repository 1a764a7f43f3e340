import { CancelledError, type Clock, scope } from '@csi-sidecars/base'
import { type Cached, createInformer, type Informer, type InformerEvent } from '@csi-sidecars/informer'
import { isForbidden, type KubeClient } from '@csi-sidecars/kube-client'
import { POD_MESSAGE, PODS, type Pod } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'

/** Everything that one watch of pods needs. */
export interface PodWatchOptions {
  readonly api: Pick<KubeClient, 'list' | 'watch'>
  /** The namespace of the pods. Undefined: all namespaces. The permission to read the pods of all is optional. */
  readonly namespace: string | undefined
  /** Called with a claim when its last pod has ended. */
  readonly onUnused: (claim: string) => void
  /** Called if the API server forbids the watch after the first list. */
  readonly onRefused: (error: unknown) => void
  readonly clock: Clock
  readonly log: Logger
}

/** The cached fields of a pod: the claims that it uses. */
interface PodClaims extends Cached {
  readonly claims: readonly string[]
}

/** Knows which claims the pods of one namespace or of all namespaces use. */
export class PodWatch {
  /** Resolves after the first list. Rejects if the list fails. */
  readonly listed: Promise<void>
  readonly #pods: Informer<PodClaims, Pod>
  readonly #scope = scope()

  constructor({ api, namespace, onUnused, onRefused, clock, log }: PodWatchOptions) {
    const { promise: failedList, reject } = Promise.withResolvers<never>()
    const onFailure = (error: unknown): void => {
      if (!this.#pods.store.synced) reject(error)
      else if (isForbidden(error)) onRefused(error)
    }
    this.#pods = createInformer({
      client: api,
      resource: PODS,
      message: POD_MESSAGE,
      project: podClaims,
      indexes: { claim: ({ claims }) => claims },
      namespace,
      optional: namespace === undefined,
      onFailure,
      resyncMs: 0,
      clock,
      log,
    })
    this.#pods.subscribe((event) => {
      for (const claim of formerClaims(event)) {
        if (!this.uses(claim)) onUnused(claim)
      }
    })
    const { signal } = this.#scope
    this.listed = Promise.race([this.#pods.store.whenSynced(signal), failedList])
    this.#pods.run(signal).catch(onRefused)
  }

  /** Reports whether a pod uses the claim, as far as the watch shows. */
  uses(claim: string): boolean {
    return this.#pods.store.byIndex('claim', claim).length > 0
  }

  close(): void {
    this.#scope.abort(new CancelledError('no claim waits for a pod'))
  }
}

/** Returns the claims that a pod used before a change. */
function formerClaims(event: InformerEvent<PodClaims>): readonly string[] {
  switch (event.type) {
    case 'added':
      return []
    case 'updated':
      return event.before.claims
    case 'deleted':
      return event.object.claims
  }
}

/** Returns the claims that a pod uses. Undefined if the pod uses no claim, or if its containers have ended. */
export function podClaims({ metadata, spec, status }: Pod): PodClaims | undefined {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined
  const { namespace, name: podName, uid = '', resourceVersion = '' } = metadata ?? {}
  const key = `${namespace}/${podName}`
  const claims = (spec?.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim }) => {
    // The claim of a generic ephemeral volume has the name of the pod and of the volume.
    if (ephemeral != null) return `${key}-${name}`
    return persistentVolumeClaim ? `${namespace}/${persistentVolumeClaim.claimName}` : []
  })
  return claims.length > 0 ? { key, uid, resourceVersion, claims } : undefined
}

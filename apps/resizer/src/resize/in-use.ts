import { Backoff, CancelledError, type Clock, type Scope, scope } from '@csi-sidecars/base'
import { type ChangeFrame, isForbidden, type KubeClient } from '@csi-sidecars/kube-client'
import { PODS, type Pod } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { type Claim, claimRef } from '../caches/claim.ts'

export interface InUseOptions {
  readonly api: Pick<KubeClient, 'list' | 'watch'>
  /** A claim that waits is no longer used by any pod. */
  readonly wake: (key: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** The claims that each pod uses which has not ended, by the pod's name; pods without claims are left out. */
type LivingPods = Map<string, readonly string[]>

interface PodList {
  readonly pods: LivingPods
  readonly resourceVersion: string
}

/** A namespace in which claims wait for their pods to end. */
interface Neighbourhood {
  readonly namespace: string
  readonly waiting: Set<string>
  /** As listed, and kept so by a watch that began at that list. */
  pods: LivingPods
  watch: Scope
}

const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000

/**
 * Claims whose driver refuses to expand a volume that is in use.
 *
 * Nothing is asked about pods until a driver has refused. Then each attempt lists the pods of the claim's namespace, and
 * as long as a claim waits for its pods that namespace is watched. Every list replaces what is known of the namespace
 * and begins its watch anew from there, so that nothing between two of them is lost.
 */
export class InUse {
  readonly #options: InUseOptions
  /** By uid: another claim of the same name starts without a mark. */
  readonly #refused = new Set<string>()
  readonly #neighbourhoods = new Map<string, Neighbourhood>()
  #warned = false

  constructor(options: InUseOptions) {
    this.#options = options
  }

  /** The driver refused to expand the claim's volume, as one that is in use. */
  mark(claim: Claim): void {
    this.#refused.add(claim.uid)
  }

  unmark(claim: Claim): void {
    this.#refused.delete(claim.uid)
  }

  isMarked(claim: Claim): boolean {
    return this.#refused.has(claim.uid)
  }

  /** Whether a pod uses the claim now. If so the claim waits: `wake` is called once the last such pod has ended. */
  async isUsed(claim: Claim, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = claimRef(claim)
    let list: PodList
    try {
      list = await this.#list(namespace, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#cannotTell(error, namespace)
      return false
    }
    const used = claimsOf(list.pods).has(name)
    if (used) this.#neighbourhood(namespace).waiting.add(claim.key)
    const neighbourhood = this.#neighbourhoods.get(namespace)
    if (neighbourhood !== undefined) this.#follow(neighbourhood, list)
    return used
  }

  /** The claim is being worked on: it waits no more. */
  stopWaiting(key: string): void {
    const neighbourhood = this.#neighbourhoods.get(key.slice(0, key.indexOf('/')))
    if (neighbourhood?.waiting.delete(key)) this.#closeIfEmpty(neighbourhood)
  }

  /** The claim is gone. */
  forget(claim: Claim): void {
    this.unmark(claim)
    this.stopWaiting(claim.key)
  }

  /** Ends every wait. */
  close(): void {
    for (const neighbourhood of this.#neighbourhoods.values()) {
      neighbourhood.waiting.clear()
      this.#closeIfEmpty(neighbourhood)
    }
  }

  #neighbourhood(namespace: string): Neighbourhood {
    const known = this.#neighbourhoods.get(namespace)
    if (known !== undefined) return known
    const created: Neighbourhood = { namespace, waiting: new Set(), pods: new Map(), watch: scope() }
    this.#neighbourhoods.set(namespace, created)
    return created
  }

  #closeIfEmpty(neighbourhood: Neighbourhood): void {
    if (neighbourhood.waiting.size > 0) return
    this.#neighbourhoods.delete(neighbourhood.namespace)
    neighbourhood.watch.abort(new CancelledError('no claim waits for a pod'))
  }

  async #list(namespace: string, signal: AbortSignal): Promise<PodList> {
    const pods: LivingPods = new Map()
    let resourceVersion = ''
    for await (const page of this.#options.api.list(PODS, { namespace, project: livingPod, signal })) {
      for (const { name, claims } of page.items) pods.set(name, claims)
      resourceVersion = page.resourceVersion
    }
    return { pods, resourceVersion }
  }

  #follow(neighbourhood: Neighbourhood, list: PodList): void {
    neighbourhood.watch.abort(new CancelledError('the pods were listed anew'))
    neighbourhood.watch = scope()
    const { signal } = neighbourhood.watch
    this.#replace(neighbourhood, list)
    if (signal.aborted) return
    void this.#watch(neighbourhood, list.resourceVersion, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#giveUp(neighbourhood, error)
    })
  }

  #replace(neighbourhood: Neighbourhood, { pods }: PodList): void {
    neighbourhood.pods = pods
    this.#wakeUnused(neighbourhood)
  }

  /** Until aborted, or refused. A watch that ends in good order goes on where it was; else the pods are listed anew. */
  async #watch(neighbourhood: Neighbourhood, from: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const { namespace } = neighbourhood
    const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS })
    for (let version: string | undefined = from; ; ) {
      try {
        if (version === undefined) {
          const list = await this.#list(namespace, signal)
          this.#replace(neighbourhood, list)
          version = list.resourceVersion
        }
        version = await this.#frames(neighbourhood, { from: version, signal, onFrame: () => pauses.reset() })
      } catch (error) {
        signal.throwIfAborted()
        if (isForbidden(error)) throw error
        log.v(2)?.info('Watching pods failed', { namespace, err: error })
        version = undefined
      }
      await clock.sleep(pauses.next(), signal)
    }
  }

  /** One stream to its end: the version to go on from, undefined when it broke. */
  async #frames(
    neighbourhood: Neighbourhood,
    { from, signal, onFrame }: { from: string; signal: AbortSignal; onFrame: () => void },
  ): Promise<string | undefined> {
    const options = { namespace: neighbourhood.namespace, resourceVersion: from, signal }
    let version = from
    for await (const frame of this.#options.api.watch(PODS, options)) {
      if (frame.type === 'END') return frame.why === 'closed' ? version : undefined
      onFrame()
      version = frame.type === 'BOOKMARK' ? frame.resourceVersion : this.#take(neighbourhood, frame)
    }
    return undefined
  }

  /** The version that the change brings. */
  #take(neighbourhood: Neighbourhood, { type, object }: ChangeFrame<Pod>): string {
    const { name = '', resourceVersion = '' } = object.metadata ?? {}
    const living = type === 'DELETED' ? undefined : livingPod(object)
    if (living !== undefined) neighbourhood.pods.set(name, living.claims)
    else if (neighbourhood.pods.delete(name)) this.#wakeUnused(neighbourhood)
    return resourceVersion
  }

  #wakeUnused(neighbourhood: Neighbourhood): void {
    const used = claimsOf(neighbourhood.pods)
    for (const key of neighbourhood.waiting) {
      if (used.has(key.slice(neighbourhood.namespace.length + 1))) continue
      neighbourhood.waiting.delete(key)
      this.#options.wake(key)
    }
    this.#closeIfEmpty(neighbourhood)
  }

  /** Without a watch the claims still have their back-off. */
  #giveUp(neighbourhood: Neighbourhood, error: unknown): void {
    this.#neighbourhoods.delete(neighbourhood.namespace)
    neighbourhood.watch.dispose()
    this.#cannotTell(error, neighbourhood.namespace)
  }

  /** The driver knows best anyway: it is asked again. */
  #cannotTell(error: unknown, namespace: string): void {
    const { log } = this.#options
    if (!isForbidden(error)) log.v(2)?.info('Pods could not be read, the driver decides', { namespace, err: error })
    else if (!this.#warned) {
      this.#warned = true
      log.warn('Pods may not be read: whether a volume is in use is left to the driver at each retry', { err: error })
    }
  }
}

function claimsOf(pods: LivingPods): ReadonlySet<string> {
  return new Set([...pods.values()].flat())
}

/** Undefined for a pod without claims, and for one that has ended: its containers are gone for good. */
function livingPod({ metadata, spec, status }: Pod): { name: string; claims: readonly string[] } | undefined {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined
  const name = metadata?.name ?? ''
  const claims = (spec?.volumes ?? []).flatMap((volume) => {
    // A generic ephemeral volume has a claim of its own.
    if (volume.ephemeral != null) return [`${name}-${volume.name}`]
    return volume.persistentVolumeClaim?.claimName ?? []
  })
  return claims.length > 0 ? { name, claims } : undefined
}

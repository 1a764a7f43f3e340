import { abortable, type Clock } from '@csi-sidecars/base'
import { isForbidden, type KubeClient } from '@csi-sidecars/kube-client'
import { namespacedRef } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import { PodWatch } from './pod-watch.ts'

/** Everything that the watch for pods needs. `onUnused` is called when no pod uses the claim. */
export interface PodUseOptions {
  readonly api: Pick<KubeClient, 'list' | 'watch'>
  /** Called with a claim when its last pod has ended. */
  readonly onUnused: (claim: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** The number of namespaces at which one watch of all pods becomes cheaper than a watch for each namespace. */
const MANY_NAMESPACES = 20

/**
 * Reports which claims are used by pods. The first question about a claim lists the pods of its namespace, and watches
 * them until `release`. The watch answers later questions.
 */
export class ClaimPodUse {
  readonly #options: PodUseOptions
  /** The claims that runs have asked about, by namespace. */
  readonly #claimsByNamespace = new Map<string, Set<string>>()
  readonly #watches = new Map<string, PodWatch>()
  /** The watch of all namespaces. It replaces the watches of single namespaces after it has listed the pods. */
  #watchOfAll: PodWatch | undefined
  #isWatchOfAllForbidden = false

  constructor(options: PodUseOptions) {
    this.#options = options
  }

  /**
   * Returns the pods of the claim's namespace, which are watched until `release`. Undefined if they cannot be read.
   */
  async podsOf(claim: string, signal: AbortSignal): Promise<Pick<PodWatch, 'uses'> | undefined> {
    const { namespace } = namespacedRef(claim)
    const asked = this.#claimsByNamespace.get(namespace) ?? new Set()
    this.#claimsByNamespace.set(namespace, asked.add(claim))
    try {
      return await this.#listedWatch(namespace, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#report(error, namespace)
      this.release(claim)
      return undefined
    }
  }

  /** Ends the watch of the claim's namespace, unless other claims there need it. */
  release(claim: string): void {
    const { namespace } = namespacedRef(claim)
    const asked = this.#claimsByNamespace.get(namespace)
    if (asked?.delete(claim) !== true || asked.size > 0) return
    this.#claimsByNamespace.delete(namespace)
    this.#close(namespace)
    if (this.#claimsByNamespace.size === 0) this.#closeAll()
  }

  close(): void {
    for (const claims of [...this.#claimsByNamespace.values()]) {
      for (const claim of [...claims]) this.release(claim)
    }
  }

  /** Returns the watch for the namespace once it has listed the pods. */
  async #listedWatch(namespace: string, signal: AbortSignal): Promise<PodWatch> {
    if (
      this.#watchOfAll === undefined &&
      !this.#isWatchOfAllForbidden &&
      this.#claimsByNamespace.size >= MANY_NAMESPACES
    )
      this.#openAll()
    if (this.#watchOfAll !== undefined && !this.#watches.has(namespace)) {
      const all = this.#watchOfAll
      try {
        await abortable(all.listed, signal)
        return all
      } catch {
        signal.throwIfAborted()
        // The pods of all namespaces cannot be read, so only this namespace is read.
      }
    }
    const watch = this.#watches.get(namespace) ?? this.#open(namespace)
    await abortable(watch.listed, signal)
    return watch
  }

  #open(namespace: string): PodWatch {
    const closed = (): void => {
      if (this.#watches.get(namespace) === watch) this.#close(namespace)
    }
    const onRefused = (error: unknown): void => {
      closed()
      this.#report(error, namespace)
    }
    const watch = new PodWatch({ ...this.#options, namespace, onRefused })
    this.#watches.set(namespace, watch)
    watch.listed.then(() => this.#reportUnused(watch, this.#claimsByNamespace.get(namespace)), closed)
    return watch
  }

  #openAll(): void {
    const refused = (error: unknown): void => {
      this.#isWatchOfAllForbidden ||= isForbidden(error)
      if (this.#watchOfAll === all) this.#closeAll()
    }
    const listed = (): void => {
      if (this.#watchOfAll !== all) return
      for (const namespace of [...this.#watches.keys()]) this.#close(namespace)
      for (const claims of this.#claimsByNamespace.values()) this.#reportUnused(all, claims)
    }
    const all = new PodWatch({ ...this.#options, namespace: undefined, onRefused: refused })
    this.#watchOfAll = all
    all.listed.then(listed, refused)
  }

  /** Reports claims as unused if their pods ended before the first list of a new watch. */
  #reportUnused(watch: PodWatch, claims: Iterable<string> = []): void {
    for (const claim of [...claims]) {
      if (!watch.uses(claim)) this.#options.onUnused(claim)
    }
  }

  #close(namespace: string): void {
    this.#watches.get(namespace)?.close()
    this.#watches.delete(namespace)
  }

  #closeAll(): void {
    this.#watchOfAll?.close()
    this.#watchOfAll = undefined
  }

  /** Logs that pods cannot be read. The caller then calls the driver, which refuses if the volume is still in use. */
  #report(error: unknown, namespace: string): void {
    this.#options.log.v(2)?.info('Pods could not be read, the driver decides', { namespace, err: error })
  }
}

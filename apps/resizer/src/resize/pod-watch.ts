import { Backoff, CancelledError, type Clock, scope } from '@csi-sidecars/base'
import {
  type ChangeFrame,
  type EndFrame,
  isForbidden,
  isGone,
  type KubeClient,
  type ListOptions,
} from '@csi-sidecars/kube-client'
import { POD_MESSAGE, PODS, type Pod } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'

/** Everything that one watch of pods needs. */
export interface PodWatchOptions {
  readonly api: Pick<KubeClient, 'list' | 'watch'>
  /** The namespace of the pods. Undefined: all namespaces. */
  readonly namespace: string | undefined
  /** Called with a claim when its last pod has ended. */
  readonly onUnused: (claim: string) => void
  /** Called if the API server forbids the watch. No further events follow. */
  readonly onRefused: (error: unknown) => void
  readonly clock: Clock
  readonly log: Logger
}

/** The key of a pod, and the claims that it uses. */
interface PodClaims {
  readonly pod: string
  readonly claims: readonly string[]
}

const FIRST_PAUSE_MS = 1_000
const MAX_PAUSE_MS = 30_000

/**
 * Knows which claims the pods of one namespace or of all namespaces use. Sends one list, and one watch that continues
 * from the list.
 */
export class PodWatch {
  /** Resolves after the first list. */
  readonly listed: Promise<void>
  readonly #options: PodWatchOptions
  readonly #scope = scope()
  #pods = new Map<string, readonly string[]>()
  /** The number of pods that use each claim. */
  readonly #users = new Map<string, number>()

  constructor(options: PodWatchOptions) {
    this.#options = options
    this.listed = this.#list(this.#scope.signal).then((version) => this.#follow(version))
  }

  /** Reports whether a pod uses the claim, as far as the watch shows. */
  uses(claim: string): boolean {
    return this.#users.has(claim)
  }

  close(): void {
    this.#scope.abort(new CancelledError('no claim waits for a pod'))
  }

  /** Returns the options of list and watch. The permission to read the pods of all namespaces is optional. */
  get #scopeOf(): Pick<ListOptions, 'namespace' | 'optional'> & { readonly message: typeof POD_MESSAGE } {
    const { namespace } = this.#options
    return { namespace, message: POD_MESSAGE, optional: namespace === undefined }
  }

  /** Lists the pods. Returns the version to watch from. */
  async #list(signal: AbortSignal): Promise<string> {
    const { api } = this.#options
    const pods = new Map<string, readonly string[]>()
    let version = ''
    const options = { ...this.#scopeOf, project: claimsOf, signal }
    for await (const page of api.list(PODS, options)) {
      for (const { pod, claims } of page.items) pods.set(pod, claims)
      version = page.resourceVersion
    }
    const before = this.#pods
    this.#pods = pods
    // New pods are counted before old pods are removed, so that a claim that both use never counts as unused.
    for (const claims of pods.values()) this.#count(claims, 1)
    for (const claims of before.values()) this.#count(claims, -1)
    return version
  }

  #follow(version: string): void {
    const { signal } = this.#scope
    if (signal.aborted) return
    void this.#watch(version, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#options.onRefused(error)
    })
  }

  /**
   * Watches until `signal` is aborted or the API server forbids it. A new stream continues from the last version, or
   * after a new list if that version is too old.
   */
  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { clock, log, namespace } = this.#options
    const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS })
    for (let version: string | undefined = from; ; ) {
      try {
        version ??= await this.#list(signal)
        version = await this.#stream(version, signal, () => pauses.reset())
      } catch (error) {
        signal.throwIfAborted()
        if (isForbidden(error)) throw error
        if (isGone(error)) version = undefined
        log.v(2)?.info('Watching pods failed', { namespace, err: error })
      }
      await clock.sleep(pauses.next(), signal)
    }
  }

  /** Reads one stream to its end. Returns the version to continue from. Undefined if a new list is necessary. */
  async #stream(from: string, signal: AbortSignal, onFrame: () => void): Promise<string | undefined> {
    const { api } = this.#options
    let version = from
    for await (const frame of api.watch(PODS, { ...this.#scopeOf, resourceVersion: from, signal })) {
      if (frame.type === 'END') return needsList(frame) ? undefined : version
      onFrame()
      version = frame.type === 'BOOKMARK' ? frame.resourceVersion : this.#applyChange(frame)
    }
    return version
  }

  /** Applies a watch event. Returns its version. */
  #applyChange({ type, object }: ChangeFrame<Pod>): string {
    const version = object.metadata?.resourceVersion ?? ''
    const now = type === 'DELETED' ? undefined : claimsOf(object)
    const pod = podKey(object)
    const before = this.#pods.get(pod)
    if (now === undefined) this.#pods.delete(pod)
    else this.#pods.set(pod, now.claims)
    if (now !== undefined) this.#count(now.claims, 1)
    if (before !== undefined) this.#count(before, -1)
    return version
  }

  #count(claims: readonly string[], by: 1 | -1): void {
    for (const claim of claims) {
      const users = (this.#users.get(claim) ?? 0) + by
      if (users > 0) this.#users.set(claim, users)
      else {
        this.#users.delete(claim)
        this.#options.onUnused(claim)
      }
    }
  }
}

/** Reports whether a new list is necessary after this end of a stream. */
function needsList({ why }: EndFrame): boolean {
  return why === 'error' || why === 'badFrame'
}

function podKey({ metadata: { namespace, name } = {} }: Pod): string {
  return `${namespace}/${name}`
}

/** Returns the claims that a pod uses. Undefined if the pod uses no claim, or if its containers have ended. */
export function claimsOf(pod: Pod): PodClaims | undefined {
  const { metadata: { namespace } = {}, spec, status } = pod
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined
  const claims = (spec?.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim }) => {
    // The claim of a generic ephemeral volume has the name of the pod and of the volume.
    if (ephemeral != null) return `${podKey(pod)}-${name}`
    return persistentVolumeClaim ? `${namespace}/${persistentVolumeClaim.claimName}` : []
  })
  return claims.length > 0 ? { pod: podKey(pod), claims } : undefined
}

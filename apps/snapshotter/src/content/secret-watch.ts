import { CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Cause, Enqueuer, Source } from '@csi-sidecars/controller'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'

const PERIOD_MS = 900

/**
 * Reads each missing Secret about once a second while contents wait for it, and wakes the contents when it appears. A
 * watch is not possible, because the roles of drivers allow only `get` of Secrets.
 */
export class SecretWatch {
  readonly #api: Pick<KubeClient, 'get'>
  readonly #clock: Clock
  /** The names of the snapshot contents that wait for a Secret, by `namespace/name` of the Secret. */
  readonly #waiting = new Map<string, Set<string>>()
  #term: { readonly queue: Enqueuer; readonly signal: AbortSignal } | undefined

  constructor(api: Pick<KubeClient, 'get'>, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  /** Records that the snapshot content waits for the Secret. Returns the `Cause` that its key must wait for. */
  add(ref: SecretRef, contentKey: string): Cause {
    const name = `${ref.namespace}/${ref.name}`
    const known = this.#waiting.get(name)
    this.#waiting.set(name, (known ?? new Set()).add(contentKey))
    if (known === undefined) this.#plan(name, ref)
    return { on: 'secret', name }
  }

  /** Ends all waits of the snapshot content. */
  forget(contentKey: string): void {
    for (const keys of this.#waiting.values()) keys.delete(contentKey)
  }

  /** Wakes the snapshot contents whose Secret has appeared. */
  readonly source: Source = (queue) => {
    const life = scope()
    this.#term = { queue, signal: life.signal }
    return () => life.abort(new CancelledError('the controller has ended'))
  }

  #plan(name: string, ref: SecretRef): void {
    const { queue, signal } = this.#term ?? {}
    const look = async (): Promise<void> => {
      const isNeeded = (this.#waiting.get(name)?.size ?? 0) > 0 && signal?.aborted === false
      if (isNeeded && (await this.#isMissing(ref, signal))) return this.#plan(name, ref)
      this.#waiting.delete(name)
      if (isNeeded && !signal.aborted) queue?.wake({ on: 'secret', name })
    }
    this.#clock.schedule(PERIOD_MS, () => void look())
  }

  /** Reports whether the Secret is missing. After another error, returns false, and the contents are retried. */
  async #isMissing(ref: SecretRef, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.#api.get(SECRETS, ref, { signal, priority: 'spare' })
      return false
    } catch (error) {
      return isNotFound(error)
    }
  }
}

import { CancelledError, type Clock, scope } from '@csi-sidecars/base'
import type { Cause, Enqueuer, Source } from '@csi-sidecars/controller'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import type { SecretRef } from './template.ts'

const PERIOD_MS = 900
/** Missing Secrets that are read in one period. The others follow in the next periods. */
const MOST_AT_ONCE = 5

/**
 * Notices when missing Secrets appear. The roles of drivers allow `get` of Secrets, but neither `list` nor `watch`. So the
 * missing Secrets are read about once a second while contents wait for them.
 */
export class SecretWatch {
  readonly #api: Pick<KubeClient, 'get'>
  readonly #clock: Clock
  /** By the Secret, the contents that wait for it. */
  readonly #waiting = new Map<string, { readonly ref: SecretRef; readonly keys: Set<string> }>()
  #plan = (): void => undefined

  constructor(api: Pick<KubeClient, 'get'>, clock: Clock) {
    this.#api = api
    this.#clock = clock
  }

  /** The content waits for the Secret. Returns the cause that ends its wait. */
  add(ref: SecretRef, contentKey: string): Cause {
    const id = `${ref.namespace}/${ref.name}`
    const entry = this.#waiting.get(id) ?? { ref, keys: new Set() }
    this.#waiting.set(id, entry)
    entry.keys.add(contentKey)
    this.#plan()
    return { on: 'secret', name: id }
  }

  /** The content no longer waits for a Secret. */
  forget(contentKey: string): void {
    for (const [id, { keys }] of this.#waiting) if (keys.delete(contentKey) && keys.size === 0) this.#waiting.delete(id)
  }

  /** Wakes the contents whose Secret has appeared. */
  readonly source: Source = (queue) => {
    const life = scope()
    let planned = false
    let cancel = (): void => undefined
    this.#plan = () => {
      if (planned || this.#waiting.size === 0 || life.signal.aborted) return
      planned = true
      cancel = this.#clock.schedule(PERIOD_MS, () => {
        void this.#lookAll(queue, life.signal).finally(() => {
          planned = false
          this.#plan()
        })
      })
    }
    this.#plan()
    return () => {
      cancel()
      life.abort(new CancelledError('the controller has ended'))
    }
  }

  async #lookAll(queue: Pick<Enqueuer, 'wake'>, signal: AbortSignal): Promise<void> {
    for (const [id, entry] of [...this.#waiting].slice(0, MOST_AT_ONCE)) {
      const missing = await this.#isMissing(entry.ref, signal)
      if (signal.aborted) return
      this.#waiting.delete(id)
      // At the end, so that each missing Secret has its turn.
      if (missing && entry.keys.size > 0) this.#waiting.set(id, entry)
      if (!missing) queue.wake({ on: 'secret', name: id })
    }
  }

  /** Any answer other than `NotFound` is a reason to try again. */
  async #isMissing(ref: SecretRef, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#api.get(SECRETS, ref, { signal, priority: 'spare' })
      return false
    } catch (error) {
      return isNotFound(error) || signal.aborted
    }
  }
}

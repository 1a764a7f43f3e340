import { type Clock, exponential } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ResizerClaim } from '../caches/claim.ts'
import { ClaimPodUse } from './pod-use.ts'

/** Everything that the check for pods that use a claim needs. */
export interface InUseOptions {
  readonly api: Pick<KubeClient, 'list' | 'watch'>
  /** The shortest and the longest back-off of the resize controller. */
  readonly backoff: { readonly baseMs: number; readonly maxMs: number }
  readonly clock: Clock
  readonly log: Logger
}

/** The state of a claim whose last pod has ended, but whose volume may still be attached. */
interface Detaching {
  readonly sinceMs: number
  refusals: number
}

/** The time that a volume may stay attached after its last pod: Kubernetes waits that long for a lost node. */
const MAX_DETACHING_MS = 6 * 60_000
/** The longest pause between tries while a volume may still be attached. */
const MAX_DETACHING_PAUSE_MS = 8_000

/**
 * Claims whose driver refuses to expand a volume in use.
 *
 * Pods are read only after such a refusal. If pods use the claim, it waits until the last pod has ended. The volume
 * stays attached for some seconds after that, so retries stay frequent.
 */
export class InUseRefusals {
  readonly #options: InUseOptions
  readonly #pods: ClaimPodUse
  /** The UIDs of claims whose expansion the driver has refused. A recreated claim has a new UID, so it does not count. */
  readonly #refused = new Set<string>()
  /** The UIDs of claims that wait for the end of their pods, by key. */
  readonly #waiting = new Map<string, string>()
  readonly #detaching = new Map<string, Detaching>()
  #wake: (key: string) => void = () => undefined

  constructor(options: InUseOptions) {
    this.#options = options
    this.#pods = new ClaimPodUse({ ...options, onUnused: (key) => this.#podsEnded(key) })
  }

  /** Records that the driver does not expand the volume while it is in use. */
  addRefusal({ uid }: ResizerClaim): void {
    this.#refused.add(uid)
  }

  /** Removes the refusal, before the driver is called again for the claim. */
  removeRefusal({ uid }: ResizerClaim): void {
    this.#refused.delete(uid)
  }

  wasRefused({ uid }: ResizerClaim): boolean {
    return this.#refused.has(uid)
  }

  /** Reports whether a pod uses the claim. Its last pod's end wakes the claim. */
  async isUsed(claim: ResizerClaim, signal: AbortSignal): Promise<boolean> {
    return (await this.#podUseOf(claim, signal)) === 'used'
  }

  /**
   * Returns the pause after a refusal of the driver. Undefined if a pod uses the claim, or pods cannot be read: then
   * the usual back-off applies.
   */
  async pauseAfterRefusal(claim: ResizerClaim, signal: AbortSignal): Promise<number | undefined> {
    if ((await this.#podUseOf(claim, signal)) !== 'unused') return undefined
    const { clock, backoff } = this.#options
    const now = clock.monotonic()
    // If the pods ended during the call, the time of their end is unknown, so the six minutes begin now.
    const detaching = this.#detaching.get(claim.uid) ?? { sinceMs: now, refusals: 0 }
    this.#detaching.set(claim.uid, detaching)
    const isRecent = now - detaching.sinceMs < MAX_DETACHING_MS
    if (!isRecent) this.#pods.release(claim.key)
    const pause = exponential({ initialMs: backoff.baseMs, maxMs: backoff.maxMs }, detaching.refusals)
    detaching.refusals += 1
    return isRecent ? Math.min(pause, MAX_DETACHING_PAUSE_MS) : pause
  }

  stopWaiting({ key }: Pick<ResizerClaim, 'key'>): void {
    this.#waiting.delete(key)
    this.#pods.release(key)
  }

  /** Forgets a claim that is expanded or gone. */
  forget(claim: ResizerClaim): void {
    this.removeRefusal(claim)
    this.#detaching.delete(claim.uid)
    this.stopWaiting(claim)
  }

  /** Drops all refusals after a reconnect: a new driver may expand volumes in use. */
  onDriverReturn(): void {
    this.#refused.clear()
    this.#detaching.clear()
    this.#close()
  }

  /** Wakes each waiting claim once it is unused. Returns a function that ends waits. */
  open(wake: (key: string) => void): () => void {
    this.#wake = wake
    return () => this.#close()
  }

  #close(): void {
    this.#waiting.clear()
    this.#pods.close()
  }

  async #podUseOf({ key, uid }: ResizerClaim, signal: AbortSignal): Promise<'used' | 'unused' | 'unknown'> {
    // This run reads the pods now, so their events must not start another run.
    this.#waiting.delete(key)
    const pods = await this.#pods.podsOf(key, signal)
    if (pods === undefined) return 'unknown'
    if (!pods.uses(key)) return 'unused'
    this.#waiting.set(key, uid)
    this.#detaching.delete(uid)
    return 'used'
  }

  #podsEnded(key: string): void {
    const uid = this.#waiting.get(key)
    if (uid === undefined) return
    this.#waiting.delete(key)
    this.#detaching.set(uid, { sinceMs: this.#options.clock.monotonic(), refusals: 0 })
    this.#wake(key)
  }
}

import type { Clock } from '@csi-sidecars/base'

/** The claims whose size or class the driver has refused as infeasible. Each claim stays here for a fixed time. */
export class InfeasibleClaims {
  readonly #clock: Clock
  readonly #retentionMs: number
  /** The expiry time by key. The first entry expires first, because all keys stay for the same time. */
  readonly #expiryByKey = new Map<string, number>()

  constructor(clock: Clock, retentionMs: number) {
    this.#clock = clock
    this.#retentionMs = retentionMs
  }

  /** Adds a key. A key in the set keeps its expiry time. */
  add(key: string): void {
    this.#removeExpired()
    if (!this.#expiryByKey.has(key)) this.#expiryByKey.set(key, this.#clock.monotonic() + this.#retentionMs)
  }

  remove(key: string): void {
    this.#expiryByKey.delete(key)
  }

  clear(): void {
    this.#expiryByKey.clear()
  }

  /** Returns the milliseconds until the key expires. Undefined for an unknown key. */
  expiresInMs(key: string): number | undefined {
    const expiresAt = this.#expiryByKey.get(key)
    if (expiresAt === undefined) return undefined
    const left = expiresAt - this.#clock.monotonic()
    return left > 0 ? left : undefined
  }

  get size(): number {
    this.#removeExpired()
    return this.#expiryByKey.size
  }

  #removeExpired(): void {
    const now = this.#clock.monotonic()
    for (const [key, expiresAt] of this.#expiryByKey) {
      if (expiresAt > now) return
      this.#expiryByKey.delete(key)
    }
  }
}

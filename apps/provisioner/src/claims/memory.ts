import type { Clock } from '@csi-sidecars/base'
import type { VolumeContentSource } from '@csi-sidecars/csi-proto'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { Ownership } from '../node/ownership.ts'
import type { SecretRef } from '../request/secrets.ts'
import { Pins } from '../topology/pins.ts'

/** A creation that may be running at the driver. It is followed to its end even if its objects are deleted. */
export interface Followed {
  readonly claim: Claim
  readonly class: Class
  readonly content: VolumeContentSource | undefined
}

/** A claim that the driver has called infeasible. */
interface Pause {
  readonly until: number
  readonly classUid: string
}

/** A created volume without a stored PersistentVolume. */
export interface Unsaved {
  readonly claim: Claim
  readonly pv: PersistentVolume
  readonly created: CreatedVolume
  /** Another PersistentVolume has the name: the volume must be deleted. */
  readonly doomed: boolean
}

/** A volume at the driver. */
export interface CreatedVolume {
  readonly volumeId: string
  readonly secretRef: SecretRef | undefined
  readonly migrated: boolean
}

/** The knowledge of this process about unbound claims, by their UIDs. The API cannot store it. */
export class ClaimMemory {
  readonly inProgress = new Map<string, Followed>()
  /** The keys are the names of the PersistentVolumes. */
  readonly unsaved = new Map<string, Unsaved>()
  readonly pins = new Pins()
  readonly ownership: Ownership
  readonly #pauses = new Map<string, Pause>()
  readonly #news: News
  readonly #clock: Clock
  readonly #pauseMs: number

  constructor(clock: Clock, pauseMs: number) {
    this.#clock = clock
    this.#pauseMs = pauseMs
    this.#news = new News(clock)
    this.ownership = new Ownership(clock)
  }

  pause(uid: string, classUid: string): void {
    this.#pauses.set(uid, { until: this.#clock.monotonic() + this.#pauseMs, classUid })
  }

  /** Milliseconds until the pause ends. A class with another UID has ended it. */
  pausedForMs(uid: string, classUid: string): number {
    const pause = this.#pauses.get(uid)
    if (pause === undefined || pause.classUid !== classUid) return 0
    return Math.max(0, pause.until - this.#clock.monotonic())
  }

  isNews(uid: string, message: string): boolean {
    return this.#news.isNews(uid, message)
  }

  /** Reports whether the work on the claim begins. */
  begins(uid: string): boolean {
    return this.#news.isNews(`${uid} begins`, '')
  }

  /** Forgets a claim that is bound or deleted. A creation that may be running is kept. */
  forget(uid: string): void {
    this.#pauses.delete(uid)
    this.ownership.forget(uid)
    if (!this.follows(uid)) this.pins.release(uid)
    this.#news.forget(uid)
    this.#news.forget(`${uid} begins`)
  }

  /** No creation is running any longer, and this node does not try to own the claim. */
  ended(uid: string): void {
    this.inProgress.delete(uid)
    this.ownership.forget(uid)
    this.pins.release(uid)
  }

  /** Reports whether a creation has to be followed up. */
  follows(uid: string): boolean {
    return this.inProgress.has(uid)
  }

  /** The driver has been replaced: it may find other requests feasible. */
  onDriverReturn(): void {
    this.#pauses.clear()
  }
}

interface Reported {
  readonly message: string
  readonly at: number
}

/** Events live for an hour. A cause that lasts is reported again in time. */
const REPORT_AGAIN_MS = 15 * 60_000

/** The last message about each object, so that a cause is one event and not one for each try. */
export class News {
  readonly #last = new Map<string, Reported>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the message is not the last one about the object, or was reported long ago. Counts as reported then. */
  isNews(key: string, message: string): boolean {
    const last = this.#last.get(key)
    const at = this.#clock.monotonic()
    if (last?.message === message && at - last.at < REPORT_AGAIN_MS) return false
    this.#last.set(key, { message, at })
    return true
  }

  forget(key: string): void {
    this.#last.delete(key)
  }
}

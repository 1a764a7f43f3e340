import type { Clock } from '@csi-sidecars/base'
import { EventDeduplicator } from '@csi-sidecars/controller'
import type { PersistentVolume } from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { NodeDriverChecks } from '../node/node-checks.ts'
import { SelectionDelays } from '../node/selection-delays.ts'
import type { PreparedCreation } from './prepared.ts'

/**
 * A CreateVolume call whose outcome is unknown. The same request is repeated until the outcome is known, even if its
 * claim, class or VolumeAttributesClass was deleted or recreated: a driver refuses another request for the volume.
 */
export interface UncertainCall {
  readonly prepared: PreparedCreation
  /** True if an earlier process may have sent another request for the volume. The parameters may then differ. */
  readonly isRebuilt: boolean
}

/** The pause after the driver has refused a claim as infeasible. */
interface Pause {
  readonly until: number
  readonly classUid: string
}

/** A volume in the back end whose PersistentVolume is not stored yet. */
export interface UnsavedVolume {
  readonly claim: ProvisionerClaim
  readonly pv: PersistentVolume
  readonly created: CreatedVolume
  /** True if another PersistentVolume has the name: the new volume must be deleted. */
  readonly mustDelete: boolean
}

/** A volume in the back end, with the data that DeleteVolume needs. */
export interface CreatedVolume {
  readonly volumeId: string
  readonly secretRef: SecretRef | undefined
  /** The values of the Secret at the creation, for a Secret that is gone. */
  readonly secrets: Readonly<Record<string, string>>
  readonly migrated: boolean
}

/** The facts that only this process remembers about unbound claims, by the UIDs of the claims. */
export class ClaimMemory {
  readonly uncertainCalls = new Map<string, UncertainCall>()
  /** The created volumes, by the names of their PersistentVolumes. */
  readonly unsavedVolumes = new Map<string, UnsavedVolume>()
  readonly selectionDelays: SelectionDelays
  readonly nodeChecks: NodeDriverChecks
  readonly #pauses = new Map<string, Pause>()
  /** The claims that this process has worked on at least once. */
  readonly #ran = new Set<string>()
  /** The claims whose CreateVolume call has ended in this process. */
  readonly #endedCalls = new Set<string>()
  /** The claims whose work has ended, although a failed removal may have left our finalizer on them. */
  readonly #finished = new Set<string>()
  /** The times since which a creation of an earlier process could not be repeated. */
  readonly #unrepeatableSince = new Map<string, number>()
  readonly #events: EventDeduplicator
  readonly #clock: Clock
  readonly #pauseMs: number

  constructor(clock: Clock, pauseMs: number) {
    this.#clock = clock
    this.#pauseMs = pauseMs
    this.#events = new EventDeduplicator({ clock })
    this.selectionDelays = new SelectionDelays(clock)
    this.nodeChecks = new NodeDriverChecks(clock)
  }

  pauseClaim(uid: string, classUid: string): void {
    this.#pauses.set(uid, { until: this.#clock.monotonic() + this.#pauseMs, classUid })
  }

  /** Returns the milliseconds that an infeasible claim still waits. A new StorageClass of the claim ends the wait. */
  pausedForMs(uid: string, classUid: string): number {
    const pause = this.#pauses.get(uid)
    if (pause === undefined || pause.classUid !== classUid) return 0
    return Math.max(0, pause.until - this.#clock.monotonic())
  }

  /** Reports whether to record an event with the message about the claim. If so, remembers it. */
  shouldRecord(uid: string, message: string): boolean {
    return this.#events.shouldRecord(uid, message)
  }

  /** Reports whether to publish the Provisioning event: once in 15 minutes. */
  shouldRecordBegin(uid: string): boolean {
    return this.#events.shouldRecord(`${uid} begins`, '')
  }

  /** Forgets a bound or deleted claim, but not its running CreateVolume call. */
  forget(uid: string): void {
    this.#pauses.delete(uid)
    this.#ran.delete(uid)
    this.#endedCalls.delete(uid)
    this.#finished.delete(uid)
    this.selectionDelays.forget(uid)
    this.nodeChecks.forget(uid)
    this.#unrepeatableSince.delete(uid)
    this.#events.forget(uid)
    this.#events.forget(`${uid} begins`)
  }

  /** Called when a claim's CreateVolume call has ended. Forgets the call. */
  recordEndOfCall(uid: string): void {
    this.uncertainCalls.delete(uid)
    this.#endedCalls.add(uid)
    this.#finished.delete(uid)
    this.selectionDelays.forget(uid)
    this.#unrepeatableSince.delete(uid)
  }

  /** Called before our finalizer is removed from a claim. The removal may fail, and then nothing else follows from it. */
  recordFinished(uid: string): void {
    this.recordEndOfCall(uid)
    this.#finished.add(uid)
  }

  /** Reports whether our finalizer on the claim is left over, so that it is no sign of a running CreateVolume call. */
  isCreationFinished(uid: string): boolean {
    return this.#finished.has(uid) && !this.uncertainCalls.has(uid)
  }

  /** Returns for how many milliseconds the creation of an earlier process could not be repeated. First call: 0. */
  unrepeatableForMs(uid: string): number {
    const now = this.#clock.monotonic()
    const since = this.#unrepeatableSince.get(uid) ?? now
    this.#unrepeatableSince.set(uid, since)
    return now - since
  }

  /** Called at the end of each run of the claim. */
  recordRun(uid: string): void {
    this.#ran.add(uid)
  }

  /** Reports whether a call of an earlier process cannot be running: this process knows the end of the last call. */
  knowsEndOfCall(uid: string): boolean {
    return this.#endedCalls.has(uid)
  }

  /** Reports whether this process has worked on the claim. If not, a call of an earlier process may still run. */
  hasRun(uid: string): boolean {
    return this.#ran.has(uid)
  }

  /** The number of remembered facts. */
  get size(): number {
    const ofCalls =
      this.uncertainCalls.size + this.#endedCalls.size + this.#finished.size + this.#unrepeatableSince.size
    const ofEvents = this.#events.size + this.#pauses.size + this.nodeChecks.size
    return this.unsavedVolumes.size + ofCalls + ofEvents + this.#ran.size
  }

  /** Reports whether a CreateVolume call for the claim may be running. */
  mayCallStillRun(uid: string): boolean {
    return this.uncertainCalls.has(uid)
  }

  /** Ends the waits of infeasible claims after a reconnect: a new version of the driver may accept their requests. */
  onDriverReturn(): void {
    this.#pauses.clear()
  }
}

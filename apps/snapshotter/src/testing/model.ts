import { invariant } from '@csi-sidecars/base'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { VOLUME_SNAPSHOT_CLASSES, VOLUME_SNAPSHOT_CONTENTS, type VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { SNAPSHOT_NAMES } from '../caches/names.ts'
import { Fixture } from './fixture.ts'
import { snapshotClass, vsc } from './objects.ts'
import type { SeenCall } from './storage.ts'

export const CONTENTS = ['a', 'b']

/** The error codes after which the driver may still be working on the call. */
const UNCERTAIN = ['Canceled', 'DeadlineExceeded', 'Unavailable', 'ResourceExhausted', 'Aborted'] as const
const CERTAIN = Object.keys(CODES).filter(
  (name): name is CodeName => name !== 'OK' && !(UNCERTAIN as readonly string[]).includes(name),
)
const REFUSALS = [
  [409, 'Conflict', 'the object has been modified'],
  [422, 'Invalid', 'no'],
  [429, 'TooManyRequests', 'later'],
  [500, 'InternalError', 'etcd is away'],
] as const

/** A fixture whose snapshotter waits at each request until the test answers it. `checkAlways` must always pass. */
export class Model extends Fixture {
  /** Names of snapshots that may remain, because no snapshotter has to delete them or can know of them. */
  readonly #excused = new Set<string>()
  /** Names of snapshots whose content lost its finalizers. Only the running process knows of these snapshots. */
  readonly #fragile = new Set<string>()
  /** Names of snapshots whose last content had the policy Retain and the handle in its status. */
  readonly #retained = new Set<string>()
  #refs = 0
  #violation: unknown

  static async begin(): Promise<Model> {
    const model = new Model({ settings: { workers: 4, retryMaxMs: 60_000 } })
    model.api.put(VOLUME_SNAPSHOT_CLASSES, snapshotClass())
    await model.startStepwise()
    return model
  }

  override async startStepwise(): Promise<void> {
    if (this.process !== undefined) return
    await super.startStepwise()
    this.calls.push = (call: SeenCall) => {
      this.#check(call)
      return Array.prototype.push.call(this.calls, call)
    }
  }

  override kill(): void {
    super.kill()
    this.#forgetFragile()
  }

  depose(): void {
    this.process?.depose()
    this.process = undefined
    this.#forgetFragile()
  }

  contentOf(name: string): VolumeSnapshotContent | undefined {
    return this.find(VOLUME_SNAPSHOT_CONTENTS, { name })
  }

  /** Creates a VolumeSnapshotContent. If `again`, it belongs to the VolumeSnapshot of the last content of this name. */
  createContent(name: string, { policy, again }: { readonly policy: string; readonly again: boolean }): void {
    if (this.contentOf(name) !== undefined) return
    if (!again) this.#refs += 1
    const uid = `${name}-${this.#refs}`
    this.#retained.delete(`snapshot-${uid}`)
    this.api.put(
      VOLUME_SNAPSHOT_CONTENTS,
      vsc(name, {
        spec: { deletionPolicy: policy, volumeSnapshotRef: { uid }, source: { volumeHandle: `vol-${name}` } },
      }),
    )
  }

  /** Annotates and deletes a content, as the snapshot-controller does after a user has deleted the VolumeSnapshot. */
  removeContent(name: string): void {
    const content = this.contentOf(name)
    if (content !== undefined) this.#retain(content)
    const annotations = { [SNAPSHOT_NAMES.beingDeleted]: 'yes' }
    this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, { metadata: { annotations } })
    this.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
  }

  /** Removes the finalizers of a VolumeSnapshotContent and deletes it, as a user may do by hand. */
  stripContent(name: string): void {
    const content = this.contentOf(name)
    if (content === undefined) return
    const snapshot = nameOf(content)
    // The snapshot may stay if its handle is in the status, or if the process has never cached the content.
    const isKept = content.status?.snapshotHandle !== undefined
    if (isKept || this.process?.knows(content) !== true) this.#excused.add(snapshot)
    else this.#fragile.add(snapshot)
    this.#retain(content)
    this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, { metadata: { finalizers: null } })
    this.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
  }

  flightAt(pick: number): InFlight | undefined {
    const flights = this.process?.gate.inFlight ?? []
    return flights[pick % flights.length]
  }

  /** Fails an API request or a CSI call. If it has already taken effect, only its answer is lost. */
  failFlight(flight: InFlight, fault: number): void {
    if (!flight.label.startsWith('call ')) {
      const lost = new ApiError({ code: 0, reason: '', message: 'connection reset', outcomeUnknown: true })
      const [code, reason, message] = REFUSALS[fault % REFUSALS.length] ?? REFUSALS[0]
      return flight.answer(flight.applied ? lost : new ApiError({ code, reason, message }))
    }
    const names: readonly CodeName[] = flight.applied ? UNCERTAIN : [...UNCERTAIN, ...CERTAIN]
    const code = names[fault % names.length] ?? 'Aborted'
    const [, method, snapshot = ''] = flight.label.split(' ')
    // A creation that finally fails leaves no snapshot, unless the snapshot's handle is already stored.
    if (CERTAIN.includes(code) && method === 'CreateSnapshot' && !this.#isStored(snapshot))
      this.storage.abandon(snapshot)
    flight.answer(new RpcError(CODES[code], 'no'))
  }

  /** Ends all faults, answers all requests, delivers all events, and lets enough time pass to converge. */
  async calmDown(): Promise<void> {
    await this.startStepwise()
    this.storage.ready = true
    this.running.answerAtOnce()
    this.running.driver.comeBack()
    for (let turn = 0; turn < 2; turn += 1) {
      this.running.deliver()
      await this.clock.advance(5 * 60_000)
    }
  }

  checkAlways(): void {
    if (this.#violation !== undefined) throw this.#violation
    const bad = this.log.lines.find(({ message }) => message.startsWith('Informer handler failed'))
    invariant(bad === undefined, `a handler threw: ${String(bad?.error)}`)
  }

  checkConverged(): void {
    const kept = new Set<string>()
    for (const name of CONTENTS) {
      const content = this.contentOf(name)
      if (content === undefined) continue
      const text = JSON.stringify(content)
      const { annotations = {}, deletionTimestamp } = content.metadata ?? {}
      const isToBeDeleted = deletionTimestamp !== undefined && annotations[SNAPSHOT_NAMES.beingDeleted] !== undefined
      invariant(!isToBeDeleted, `never deleted: ${text}`)
      invariant(content.status?.readyToUse === true, `never ready: ${text}`)
      invariant(content.status.error === undefined, `ready with an error: ${text}`)
      invariant(!isMarked(content), `ready and marked: ${text}`)
      invariant(this.storage.snapshots.has(content.status.snapshotHandle ?? ''), `without its snapshot: ${text}`)
      kept.add(content.status.snapshotHandle ?? '')
    }
    for (const { id, name } of this.storage.snapshots.values()) {
      invariant(kept.has(id) || this.#excused.has(name), `${name} is left over`)
    }
    invariant([...this.running.backlog.pending()].length === 0, 'work is pending')
  }

  #isStored(snapshot: string): boolean {
    const handles = CONTENTS.map((name) => this.contentOf(name)?.status?.snapshotHandle)
    return [...this.storage.snapshots.values()].some(({ id, name }) => name === snapshot && handles.includes(id))
  }

  /** Records that a content with the policy Retain is removed. */
  #retain(content: VolumeSnapshotContent): void {
    if (content.spec.deletionPolicy !== 'Retain') return
    this.#excused.add(nameOf(content))
    if (content.status?.snapshotHandle !== undefined) this.#retained.add(nameOf(content))
  }

  #forgetFragile(): void {
    for (const name of this.#fragile) this.#excused.add(name)
    this.#fragile.clear()
  }

  /** Checks a call. Remembers a violation, because a thrown error would count as an answer of the driver. */
  #check({ method, request }: SeenCall): void {
    try {
      if (method === 'DeleteSnapshot') this.#checkDelete((request as { snapshotId: string }).snapshotId)
      if (method === 'CreateSnapshot') this.#checkCreate((request as { name: string }).name)
    } catch (error) {
      this.#violation ??= error
    }
  }

  #checkDelete(handle: string): void {
    const stored = this.storage.snapshots.get(handle)
    invariant(!this.#retained.has(stored?.name ?? ''), `${stored?.name} is retained`)
    for (const name of CONTENTS) {
      const content = this.contentOf(name)
      if (content?.status?.snapshotHandle !== handle) continue
      const isDue = content.metadata?.deletionTimestamp !== undefined && content.spec.deletionPolicy === 'Delete'
      invariant(isDue, `${handle} is deleted, and ${name} needs it`)
    }
  }

  #checkCreate(snapshot: string): void {
    const content = CONTENTS.map((name) => this.contentOf(name)).find((each) => each && nameOf(each) === snapshot)
    if (content === undefined || content.status?.snapshotHandle !== undefined) return
    // Before the process has cached a recreated content, it may create the snapshot without the annotation.
    invariant(isMarked(content) || this.process?.knows(content) !== true, `${snapshot} is created without a mark`)
  }
}

function isMarked({ metadata }: VolumeSnapshotContent): boolean {
  return metadata?.annotations?.[SNAPSHOT_NAMES.beingCreated] !== undefined
}

function nameOf({ spec }: VolumeSnapshotContent): string {
  return `snapshot-${spec.volumeSnapshotRef.uid}`
}

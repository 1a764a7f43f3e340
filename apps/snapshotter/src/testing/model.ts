import { invariant } from '@csi-sidecars/base'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { VOLUME_SNAPSHOT_CLASSES, VOLUME_SNAPSHOT_CONTENTS, type VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import type { InFlight } from '@csi-sidecars/testkit'
import { SNAPSHOT_NAMES } from '../caches/names.ts'
import { Fixture } from './fixture.ts'
import { preProvisioned, snapshotClass, vsc } from './objects.ts'
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

/** The name of the pre-provisioned content that names a snapshot of another content. */
export const COPY = 'copy'
const ALL_CONTENTS = [...CONTENTS, COPY]

/** The changes of a person who removes the finalizers of a content by hand. */
export interface Strip {
  /** `no`: the policy stays. `once`: the same write also sets Retain. `twice`: a write before it sets Retain. */
  readonly retain: 'no' | 'once' | 'twice'
  /** True if the watch misses all these changes, so that the process learns them from a list. */
  readonly isUnseen: boolean
}

/**
 * A fixture whose snapshotter waits at each request until the test answers it. `checkAlways` must always pass. The rules
 * follow the stored objects and the actions of the user, not the decisions of the snapshotter.
 */
export class Model extends Fixture {
  /** Names of snapshots that may remain, because no snapshotter may delete them or can know of them. */
  readonly #excused = new Set<string>()
  /** Names of snapshots whose content lost its finalizers. Only the running process knows of these snapshots. */
  readonly #fragile = new Set<string>()
  /** Names of snapshots that must remain if no content names them, because their content left them to the user. */
  readonly #kept = new Set<string>()
  /** UIDs of contents whose policy was Retain at some time. */
  readonly #everRetained = new Set<string>()
  /** UIDs of contents with a CreateSnapshot call of this process that has not finally failed. */
  readonly #creating = new Set<string>()
  /** UIDs of contents with such a call that the process has seen with the policy Retain since the call. */
  readonly #seenRetained = new Set<string>()
  /** UIDs of contents whose finalizers a user removes. The value is true if the same write asks to keep the snapshot. */
  readonly #finalizersRemoved = new Map<string, boolean>()
  #refs = 0
  #classes = 0
  #violation: unknown

  static async begin(): Promise<Model> {
    const model = new Model({ settings: { workers: 4, retryMaxMs: 60_000 } })
    model.changeClass()
    model.api.server.onChange(VOLUME_SNAPSHOT_CONTENTS, ({ type, object }) => {
      if (object.spec.deletionPolicy !== 'Delete') model.#everRetained.add(object.metadata?.uid ?? '')
      if (type === 'DELETED') model.#disappeared(object)
    })
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

  /** Sets Retain and then Delete. The process sees both changes. */
  async retainBriefly(name: string): Promise<void> {
    for (const deletionPolicy of ['Retain', 'Delete']) {
      this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, { spec: { deletionPolicy } })
      this.process?.deliver()
      await this.clock.settle()
      this.checkAlways()
    }
  }

  /** Loses all withheld changes of contents, so that the process learns them from a list. */
  loseChanges(): void {
    this.process?.loseChanges()
    for (const name of this.#fragile) this.#excused.add(name)
  }

  contentOf(name: string): VolumeSnapshotContent | undefined {
    return this.find(VOLUME_SNAPSHOT_CONTENTS, { name })
  }

  /** Creates the class again, with other parameters. */
  changeClass(): void {
    this.#classes += 1
    this.removeClass()
    this.api.store(VOLUME_SNAPSHOT_CLASSES, snapshotClass('k', { parameters: { version: `${this.#classes}` } }))
  }

  removeClass(): void {
    this.api.delete(VOLUME_SNAPSHOT_CLASSES, { name: 'k' })
  }

  /** Creates a VolumeSnapshotContent. If `again`, it belongs to the VolumeSnapshot of the last content of this name. */
  createContent(name: string, { policy, again }: { readonly policy: string; readonly again: boolean }): void {
    if (this.contentOf(name) !== undefined) return
    if (!again) this.#refs += 1
    const uid = `${name}-${this.#refs}`
    this.#kept.delete(`snapshot-${uid}`)
    // Another content asks for the same snapshot, with the parameters of the current class.
    this.storage.acceptsAnyParameters.add(`snapshot-${uid}`)
    // A process that finds the new content before it has seen the old content go does not know its last state.
    for (const snapshot of this.#fragile) if (snapshot.startsWith(`snapshot-${name}-`)) this.#excused.add(snapshot)
    this.api.store(
      VOLUME_SNAPSHOT_CONTENTS,
      vsc(name, {
        spec: { deletionPolicy: policy, volumeSnapshotRef: { uid }, source: { volumeHandle: `vol-${name}` } },
      }),
    )
  }

  /** Creates a pre-provisioned content for the snapshot of this content, if the content has one. */
  copyContent(name: string, policy: string): void {
    const handle = this.contentOf(name)?.status?.snapshotHandle
    if (handle === undefined || this.contentOf(COPY) !== undefined) return
    this.#refs += 1
    const spec = {
      deletionPolicy: policy,
      volumeSnapshotRef: { uid: `${COPY}-${this.#refs}` },
      source: { snapshotHandle: handle },
    }
    this.api.store(VOLUME_SNAPSHOT_CONTENTS, preProvisioned(COPY, { spec }))
  }

  /** Annotates and deletes a content, as the snapshot-controller does after a user has deleted the VolumeSnapshot. */
  removeContent(name: string): void {
    const annotations = { [SNAPSHOT_NAMES.beingDeleted]: 'yes' }
    this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, { metadata: { annotations } })
    this.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
  }

  flipPolicy(name: string): void {
    const policy = this.contentOf(name)?.spec.deletionPolicy === 'Delete' ? 'Retain' : 'Delete'
    this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, { spec: { deletionPolicy: policy } })
  }

  /** Removes the finalizers of a VolumeSnapshotContent and deletes it, as a user may do by hand. */
  stripContent(name: string, { retain, isUnseen }: Strip = { retain: 'no', isUnseen: false }): void {
    const content = this.contentOf(name)
    if (content === undefined) return
    const spec = { deletionPolicy: 'Retain' }
    this.#finalizersRemoved.set(content.metadata?.uid ?? '', retain !== 'no')
    if (retain === 'twice') this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, { spec })
    const change = { metadata: { finalizers: null }, ...(retain === 'once' && { spec }) }
    this.api.edit(VOLUME_SNAPSHOT_CONTENTS, { name }, change)
    this.api.delete(VOLUME_SNAPSHOT_CONTENTS, { name })
    if (isUnseen) this.loseChanges()
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
    if (CERTAIN.includes(code) && method === 'CreateSnapshot' && !this.#isStored(snapshot)) {
      this.storage.abandon(snapshot)
      this.#creationEnded(snapshot)
    }
    flight.answer(new RpcError(CODES[code], 'no'))
  }

  /** Ends all faults, answers all requests, delivers all events, and lets enough time pass to converge. */
  async calmDown(): Promise<void> {
    await this.startStepwise()
    if (this.find(VOLUME_SNAPSHOT_CLASSES, { name: 'k' }) === undefined) this.changeClass()
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
    for (const content of this.#contents) {
      const { uid = '' } = content.metadata ?? {}
      if (!this.#creating.has(uid)) continue
      if ((this.process?.cached(content)?.policy ?? 'Delete') !== 'Delete') this.#seenRetained.add(uid)
    }
    const bad = this.log.lines.find(({ message }) => message.startsWith('Informer handler failed'))
    invariant(bad === undefined, `a handler threw: ${String(bad?.error)}`)
  }

  checkConverged(): void {
    const kept = new Set<string>()
    let isCopyBroken = false
    for (const name of ALL_CONTENTS) {
      const content = this.contentOf(name)
      if (content === undefined) continue
      const text = JSON.stringify(content)
      const { annotations = {}, deletionTimestamp } = content.metadata ?? {}
      const isToBeDeleted = deletionTimestamp !== undefined && annotations[SNAPSHOT_NAMES.beingDeleted] !== undefined
      invariant(!isToBeDeleted, `never deleted: ${text}`)
      // The snapshot was deleted before the process could cache the copy. Each call was checked at its time.
      if (name === COPY && !this.storage.snapshots.has(content.spec.source.snapshotHandle ?? '')) isCopyBroken = true
      if (name === COPY && isCopyBroken) continue
      invariant(content.status?.readyToUse === true, `never ready: ${text}`)
      invariant(content.status.error === undefined, `ready with an error: ${text}`)
      invariant(!isBeingCreated(content), `ready and being created: ${text}`)
      invariant(this.storage.snapshots.has(content.status.snapshotHandle ?? ''), `without its snapshot: ${text}`)
      kept.add(content.status.snapshotHandle ?? '')
    }
    for (const { id, name } of this.storage.snapshots.values()) {
      invariant(kept.has(id) || this.#excused.has(name), `${name} is left over`)
    }
    invariant(isCopyBroken || [...this.running.backlog.pending()].length === 0, 'work is pending')
  }

  #isStored(snapshot: string): boolean {
    const handles = CONTENTS.map((name) => this.contentOf(name)?.status?.snapshotHandle)
    return [...this.storage.snapshots.values()].some(({ id, name }) => name === snapshot && handles.includes(id))
  }

  get #contents(): readonly VolumeSnapshotContent[] {
    return CONTENTS.flatMap((name) => this.contentOf(name) ?? [])
  }

  /** Called when a CreateSnapshot call has finally failed. The next call begins another creation. */
  #creationEnded(snapshot: string): void {
    const uid = this.#contents.find((each) => nameOf(each) === snapshot)?.metadata?.uid ?? ''
    this.#creating.delete(uid)
    this.#seenRetained.delete(uid)
  }

  /** Records what may happen to the snapshot of a content that was deleted. `last` is the last stored state. */
  #disappeared(last: VolumeSnapshotContent): void {
    const { uid = '', deletionTimestamp } = last.metadata ?? {}
    const handle = namedHandle(last)
    const keeps = this.#finalizersRemoved.get(uid)
    const isRetained = last.spec.deletionPolicy !== 'Delete' || keeps === true
    const snapshot = handle === undefined ? nameOf(last) : (this.storage.snapshots.get(handle)?.name ?? '')
    if (
      handle !== undefined ||
      isRetained ||
      this.#seenRetained.has(uid) ||
      (keeps !== undefined && deletionTimestamp !== undefined)
    ) {
      this.#excused.add(snapshot)
      this.#kept.add(snapshot)
    } else if (keeps === undefined) return
    else if (this.#everRetained.has(uid) || !this.#isSeen(last)) this.#excused.add(snapshot)
    else this.#fragile.add(snapshot)
  }

  /** Reports whether the process learns the deletion of the content from a watch. Otherwise it learns it from a list. */
  #isSeen(content: VolumeSnapshotContent): boolean {
    return this.process?.cached(content) !== undefined && this.process.watchesContents
  }

  #forgetFragile(): void {
    for (const name of this.#fragile) this.#excused.add(name)
    this.#fragile.clear()
    this.#creating.clear()
    this.#seenRetained.clear()
    for (const name of CONTENTS) {
      const content = this.contentOf(name)
      if (content !== undefined) this.storage.acceptsAnyParameters.add(nameOf(content))
    }
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

  /**
   * Checks that the newest stored objects permit the call: a content that names the snapshot asks for its deletion, and
   * no other content that the process has cached keeps it.
   */
  #checkDelete(handle: string): void {
    const stored = this.storage.snapshots.get(handle)
    const naming = ALL_CONTENTS.map((name) => this.contentOf(name)).filter(
      (each) => each && namedHandle(each) === handle,
    )
    const contents = naming.filter((each) => each !== undefined)
    if (contents.length === 0) invariant(!this.#kept.has(stored?.name ?? ''), `${stored?.name} is kept`)
    else invariant(contents.some(permitsDeletion), `${handle} is deleted, and no content permits it`)
    for (const content of contents.filter((each) => !permitsDeletion(each))) {
      const cached = this.process?.cached(content)
      const isUnseen = cached?.policy === 'Delete' && cached.deletedSeconds !== undefined
      invariant(cached === undefined || isUnseen, `${handle} is deleted, and ${content.metadata?.name} names it`)
    }
  }

  #checkCreate(snapshot: string): void {
    const content = this.#contents.find((each) => nameOf(each) === snapshot)
    if (content === undefined || content.status?.snapshotHandle !== undefined) return
    this.#creating.add(content.metadata?.uid ?? '')
    // The call may repeat the creation of a lost content of the same VolumeSnapshot, to delete its snapshot.
    if (content.metadata?.deletionTimestamp !== undefined) return
    // Before the process has cached a recreated content, it may create the snapshot without the annotation.
    invariant(
      isBeingCreated(content) || this.process?.cached(content) === undefined,
      `${snapshot} is created without the annotation being-created`,
    )
  }
}

function isBeingCreated({ metadata }: VolumeSnapshotContent): boolean {
  return metadata?.annotations?.[SNAPSHOT_NAMES.beingCreated] !== undefined
}

function nameOf({ spec }: VolumeSnapshotContent): string {
  return `snapshot-${spec.volumeSnapshotRef.uid}`
}

/** Returns the handle of the snapshot that a content names. Undefined if its status shows that the snapshot was deleted. */
function namedHandle({ spec, status }: VolumeSnapshotContent): string | undefined {
  const isCleared = status !== undefined && status.readyToUse === undefined
  return status?.snapshotHandle ?? (isCleared ? undefined : (spec.source.snapshotHandle ?? undefined))
}

function permitsDeletion(content: VolumeSnapshotContent): boolean {
  const { metadata, spec } = content
  return metadata?.deletionTimestamp !== undefined && spec.deletionPolicy === 'Delete' && !isBeingCreated(content)
}

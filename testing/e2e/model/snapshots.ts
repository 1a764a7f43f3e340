import type { Finding } from '@csi-sidecars/disturb'
import {
  type Resource,
  SECRETS,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  type VolumeSnapshotContent,
  type VolumeSnapshotContentStatus,
} from '@csi-sidecars/kube-types'
import { refused } from '../harness/api/api.ts'
import type { TestContext } from '../harness/context.ts'
import { repeat } from '../harness/waiting.ts'
import {
  createClass,
  createContent,
  createGiven,
  createGroup,
  createGroupClass,
  FINALIZER,
  GROUP_FINALIZER,
  installCrds,
  isMarked,
  remove,
} from '../rows/snapshotter/scene.ts'
import { type BackEnd, handleOf as handleOfCall } from './back-end.ts'
import { editFinalizers, Foreign } from './foreign.ts'
import type { SnapshotMove } from './moves.ts'
import { Rounds } from './rounds.ts'

/** The annotation of a VolumeSnapshotContent with the name of its snapshot in the driver. */
const NAME = 'example.com/snapshot'
const SECRET_ANNOTATION = 'snapshot.storage.kubernetes.io/deletion-secret'
const FINALIZERS: readonly string[] = [FINALIZER, GROUP_FINALIZER]
/** Two of every four snapshot contents come from a volume, one is pre-provisioned, and one is a group. */
const CREATE = [createContent, createContent, createGiven, createGroup] as const

/** The time in which a call may follow the read of a content, so that it does not see a change after the read. */
const READ_TO_CALL_MS = 500
/** The time in which a sidecar reads an object again after a write without an answer. */
const REREAD_MS = 5_000
/** The longest freeze of a sidecar, and a margin. A call that was permitted before a freeze may follow after it. */
const FREEZE_MS = 4_000

/** With its back-off, the snapshotter repeats so many failed calls for two seconds. */
const FAILED_DELETIONS = 5
/** The number of looks for the first failed call, and the pause between them. */
const LOOKS = 40
const LOOK_MS = 25

/** The request of a user to keep a snapshot, from a moment on. */
interface KeepRequest {
  readonly snapshot: string
  readonly since: number
}

interface Content extends Pick<VolumeSnapshotContent, 'metadata'> {
  readonly spec: Pick<VolumeSnapshotContent['spec'], 'deletionPolicy'>
  readonly status?: Omit<VolumeSnapshotContentStatus, 'creationTime'> | undefined
}

/** The desired state of the VolumeSnapshotContent (or group content) with one name. */
interface DesiredContent {
  isDesired: boolean
  /** Counts the snapshots under one content name, so that each snapshot gets a different name. */
  generation: number
  policy: 'Delete' | 'Retain'
}

/** The number of contents of a `SnapshotModel`, and facts about the sidecars under test. */
export interface SnapshotModelOptions {
  readonly contents: number
  /** True if the sidecars may forget a content that a person has removed by hand. */
  readonly forgets: boolean
  /** Delays the events of this resource for seconds. */
  readonly delayWatch: (resource: string) => void
}

/** The VolumeSnapshotContents of one test. This class also acts as the snapshot-controller. */
export class SnapshotModel {
  readonly #t: TestContext
  readonly #backEnd: BackEnd
  readonly #desired: readonly DesiredContent[]
  readonly #foreign: Foreign
  readonly #rounds = new Rounds(() => this.#reconcileAll())
  /** The handles of snapshots whose contents were deleted with the policy Retain, by the names of the snapshots. */
  readonly #kept = new Map<string, string>()
  /** The names of snapshots that may stay in the driver, because they are retained or no sidecar can know them. */
  readonly #mayStay = new Set<string>()
  /** The names of snapshots that only a running process knows, because a person removed the content by hand. */
  readonly #fragile = new Set<string>()
  /** The names of snapshots whose content was removed, and which a new content may take over. */
  readonly #adopted = new Set<string>()
  readonly #forgets: boolean
  readonly #delayWatch: SnapshotModelOptions['delayWatch']
  readonly #keepRequests: KeepRequest[] = []
  #interruptedAt = Number.NEGATIVE_INFINITY
  #forgottenAt = Number.NEGATIVE_INFINITY
  #inputs = 0
  #calm = false

  constructor(t: TestContext, backEnd: BackEnd, { contents, forgets, delayWatch }: SnapshotModelOptions) {
    this.#t = t
    this.#backEnd = backEnd
    this.#forgets = forgets
    this.#delayWatch = delayWatch
    this.#foreign = new Foreign(t)
    this.#desired = Array.from({ length: contents }, () => ({ isDesired: true, generation: 0, policy: 'Delete' }))
  }

  async start(): Promise<void> {
    await installCrds(this.#t)
    await createGroupClass(this.#t)
    await this.#provideInputs()
    this.#rounds.start()
  }

  async make({ kind, index }: SnapshotMove): Promise<void> {
    const desired = this.#desired[index]
    if (desired === undefined) throw new Error(`there is no content ${index}`)
    const { resource, ref } = this.#of(index)
    switch (kind) {
      case 'toggle':
        desired.isDesired = !desired.isDesired
        desired.generation += 1
        return await this.#rounds.now()
      case 'again':
        desired.generation += 1
        return await this.#rounds.now()
      case 'policy':
        desired.policy = desired.policy === 'Delete' ? 'Retain' : 'Delete'
        return await this.#rounds.now()
      case 'strip':
      case 'adopt':
      case 'keep':
      case 'keepInTwo':
        await this.#rounds.now(() => this.#strip(index, kind))
        if (kind !== 'adopt' || isGiven(index)) desired.generation += 1
        return await this.#rounds.now()
      case 'retain':
        return await this.#rounds.now(() => this.#setRetain(index))
      case 'retainUnseen':
        return await this.#rounds.now(() => this.#retainUnseen(index))
      case 'loseInputs':
        await refused(this.#t.api.delete(VOLUME_SNAPSHOT_CLASSES, { name: this.#t.name('class') }))
        return void (await refused(this.#t.api.delete(SECRETS, this.#secret)))
      case 'inputs':
        return await this.#provideInputs()
      case 'inputsAgain':
        await refused(this.#t.api.delete(VOLUME_SNAPSHOT_CLASSES, { name: this.#t.name('class') }))
        await refused(this.#t.api.delete(SECRETS, this.#secret))
        this.#inputs += 1
        return await this.#provideInputs()
      case 'ready':
        this.#backEnd.snapshotsReady = !this.#backEnd.snapshotsReady
        return
      case 'foreign':
        return await this.#foreign.toggleFinalizer(resource, ref)
      case 'note':
        return await this.#foreign.annotate(resource, ref)
    }
  }

  /** Called when a sidecar ends or freezes, and when it has read all objects. Records which snapshots may stay. */
  interrupted(): void {
    this.forgotten()
    this.#interruptedAt = Date.now()
    this.#backEnd.acceptAnyParameters()
  }

  /**
   * Called when the sidecars may not learn the last state of contents that are deleted now, because they have missed
   * events or read objects again.
   */
  forgotten(): void {
    this.#forgottenAt = Date.now()
    for (const name of this.#fragile) this.#mayStay.add(name)
    this.#fragile.clear()
  }

  /** Returns a finding for each DeleteSnapshot call after a user has asked to keep the snapshot. */
  forbiddenDeletions(): readonly Finding[] {
    if (!this.#t.ours) return []
    const calls = this.#t.drivers.flatMap((driver) => driver.callsOf('DeleteSnapshot', 'DeleteVolumeGroupSnapshot'))
    const found = this.#keepRequests.flatMap(({ snapshot, since }) =>
      calls.filter((call) => call.start > since && isOf(handleOfCall(call), snapshot)),
    )
    return found.map((call) => ({ rule: 'no deletion that a user has stopped', text: handleOfCall(call) }))
  }

  /** Creates missing classes and Secrets, makes the snapshots ready, and lets deleted contents disappear. */
  async calm(): Promise<void> {
    this.#calm = true
    this.#backEnd.snapshotsReady = true
    await this.#provideInputs()
  }

  wantNothing(): void {
    for (const desired of this.#desired) desired.isDesired = false
  }

  /** Returns a finding for each violated rule about snapshot contents and snapshots. */
  async differences(): Promise<readonly Finding[]> {
    const { snapshots } = this.#backEnd
    const found: Finding[] = []
    const named = new Set<string>()
    for (const [index, { isDesired, policy }] of this.#desired.entries()) {
      const { resource, ref, name } = this.#of(index)
      const stored = await this.#t.api.find(resource, ref)
      const { spec, status } = stored ?? {}
      const isReady = status?.readyToUse === true && status.error === undefined && stored && !isMarked(stored)
      const hasSnapshot = snapshots.has(name) && snapshots.get(name) === handleOf(stored)
      const isRight = isReady === true && hasSnapshot && nameOf(stored) === name && spec?.deletionPolicy === policy
      if (!(isDesired ? isRight : stored === undefined)) {
        const text = `content ${index}, ${isDesired ? name : 'deleted'}, is ${JSON.stringify(stored)}; ${snapshots.get(name)}`
        found.push({ rule: 'each wanted content has its snapshot', text })
      }
      const troubles = stored === undefined ? [] : this.#foreign.troubles(stored, FINALIZERS)
      found.push(...troubles.map((text) => ({ rule: 'what others wrote stays', text })))
      named.add(nameOf(stored))
    }
    const ofThisTest = [...snapshots.keys()].filter((name) => name.includes(this.#t.id))
    const leaks = ofThisTest.filter((name) => !named.has(name) && !this.#mayStay.has(name))
    const lost = [...this.#kept].filter(([name, id]) => snapshots.get(name) !== id)
    found.push(...leaks.map((text) => ({ rule: 'no snapshot leaks', text })))
    return [...found, ...lost.map(([text]) => ({ rule: 'a retained snapshot stays', text }))]
  }

  async remove(): Promise<void> {
    await this.#rounds.end()
    for (const index of this.#desired.keys()) await this.#t.strip(this.#of(index).resource, this.#of(index).ref)
  }

  /** Does the work of the snapshot-controller once, for all VolumeSnapshotContents. */
  async #reconcileAll(): Promise<void> {
    const { api } = this.#t
    const contents: readonly Content[] = await api.list(VOLUME_SNAPSHOT_CONTENTS)
    const all = [...contents, ...(await api.list(VOLUME_GROUP_SNAPSHOT_CONTENTS))]
    const named = new Map(all.map((each) => [each.metadata?.name, each]))
    for (const [index, { isDesired, policy }] of this.#desired.entries()) {
      const { resource, ref, name } = this.#of(index)
      const stored = named.get(ref.name)
      if (stored === undefined) {
        if (isDesired) await this.#create(index)
      } else if (stored.metadata?.deletionTimestamp != null) {
        if (!this.#calm) continue
        await editFinalizers(this.#t, { resource, ...ref }, (old) => old.filter((each) => FINALIZERS.includes(each)))
      } else if (!isDesired || nameOf(stored) !== name) {
        if (stored.spec.deletionPolicy === 'Retain') this.#retain(stored)
        await remove(this.#t, ref.name, resource)
      } else if (stored.spec.deletionPolicy !== policy) {
        await api.merge(resource, ref, { spec: { deletionPolicy: policy } })
      }
    }
  }

  async #create(index: number): Promise<void> {
    const { name, prefix, uid } = this.#of(index)
    const secret = { [`${SECRET_ANNOTATION}-name`]: this.#secret.name, [`${SECRET_ANNOTATION}-namespace`]: 'default' }
    const spec = {
      deletionPolicy: this.#desired[index]?.policy,
      [`volume${prefix}Ref`]: { namespace: 'default', name: 'snap', uid },
      ...(isGiven(index) && { source: { snapshotHandle: name } }),
    }
    const options = { what: `content-${index}`, metadata: { annotations: { [NAME]: name, ...secret } }, spec }
    this.#kept.delete(name)
    for (const [nth, { snapshot }] of [...this.#keepRequests.entries()].reverse())
      if (snapshot === name) this.#keepRequests.splice(nth, 1)
    if (this.#backEnd.snapshots.has(name)) this.#backEnd.acceptAnyParameters(name)
    if (isGiven(index)) this.#backEnd.snapshots.set(name, name)
    await CREATE[index % 4]?.(this.#t, options)
  }

  /** Removes a snapshot content and its finalizers, as a person does by hand. Its snapshot may stay in the driver. */
  async #strip(index: number, how: SnapshotMove['kind']): Promise<void> {
    const { resource, ref } = this.#of(index)
    const before = await this.#t.api.find(resource, ref)
    if (before === undefined) return
    const retain = { spec: { deletionPolicy: 'Retain' } }
    // Before the removal, because a process that starts during it cannot know this content.
    this.#fragile.add(nameOf(before))
    if (how === 'keepInTwo') await refused(this.#t.api.merge(resource, ref, retain))
    if (how === 'keep') await refused(this.#t.api.merge(resource, ref, { ...retain, metadata: { finalizers: null } }))
    await editFinalizers(this.#t, { resource, ...ref }, () => [])
    const stored = (await this.#t.api.find(resource, ref)) ?? before
    const isInUse = isGiven(index) || handleOf(stored) !== undefined
    const isInDeletion = stored.metadata?.deletionTimestamp != null
    const isKept = how === 'keep' || how === 'keepInTwo'
    const isUnknown = this.#forgets || Date.now() - this.#forgottenAt < REREAD_MS
    // A call that was permitted before may still delete the snapshot of a content in deletion.
    if (stored.spec.deletionPolicy === 'Retain' && !isInDeletion) this.#retain(stored)
    if (isUnknown || isInUse || isInDeletion || isKept) this.#mayStay.add(nameOf(stored))
    if (how === 'adopt') this.#adopted.add(nameOf(stored))
    // No call for a content that is not in deletion can have been permitted before, unless it has adopted the snapshot.
    if (isInDeletion || (isKept && this.#adopted.has(nameOf(stored)))) this.#keepFromNow(nameOf(stored))
    else if (isKept) this.#keepRequests.push({ snapshot: nameOf(stored), since: Date.now() })
    await refused(this.#t.api.delete(resource, ref))
  }

  /** Sets Retain. Once the write is stored, no new DeleteSnapshot call may follow. */
  async #setRetain(index: number): Promise<void> {
    const { resource, ref } = this.#of(index)
    const desired = this.#desired[index]
    const stored = await this.#t.api.find(resource, ref)
    if (stored === undefined || desired === undefined) return
    desired.policy = 'Retain'
    if (await refused(this.#t.api.merge(resource, ref, { spec: { deletionPolicy: 'Retain' } }))) return
    this.#mayStay.add(nameOf(stored))
    // The policy of a content that is not in deletion may change again.
    if (stored.metadata?.deletionTimestamp != null) this.#keepFromNow(nameOf(stored))
  }

  /** Deletes a content whose snapshot the driver does not delete at first. Then sets Retain before the watch reports it. */
  async #retainUnseen(index: number): Promise<void> {
    const { resource, ref } = this.#of(index)
    const stored = await this.#t.api.find(resource, ref)
    const desired = this.#desired[index]
    const handle = handleOf(stored)
    if (desired === undefined || handle === undefined || stored?.spec.deletionPolicy !== 'Delete') return
    desired.isDesired = false
    desired.generation += 1
    const { failingDeletions } = this.#backEnd
    failingDeletions.set(handle, FAILED_DELETIONS)
    await remove(this.#t, ref.name, resource)
    // No call follows if the process is down.
    let left = LOOKS
    await repeat(LOOK_MS, () => {
      left -= 1
      return left >= 0 && failingDeletions.get(handle) === FAILED_DELETIONS
    })
    this.#delayWatch(resource.plural)
    await this.#setRetain(index)
  }

  /** Records that a user keeps the snapshot from now on, unless a call that was permitted before may come late. */
  #keepFromNow(snapshot: string): void {
    const now = Date.now()
    if (this.#forgets || now - this.#interruptedAt < FREEZE_MS) return
    this.#keepRequests.push({ snapshot, since: now + READ_TO_CALL_MS })
  }

  #retain(stored: Content): void {
    const handle = handleOf(stored)
    this.#mayStay.add(nameOf(stored))
    if (handle !== undefined) this.#kept.set(nameOf(stored), handle)
  }

  /** Creates the class and the Secret, if they are not there. */
  async #provideInputs(): Promise<void> {
    const values = { token: `snapshot-${this.#inputs}` }
    await refused(createClass(this.#t, values))
    await refused(this.#t.createSecret(values))
  }

  get #secret() {
    return { namespace: this.#t.namespace, name: this.#t.name('secret') }
  }

  /** Returns the kind and the names of a snapshot content, and the name of its snapshot in the driver. */
  #of(index: number) {
    const isGroup = index % 4 === 3
    const resource: Resource<Content> = isGroup ? VOLUME_GROUP_SNAPSHOT_CONTENTS : VOLUME_SNAPSHOT_CONTENTS
    const prefix = isGroup ? 'GroupSnapshot' : 'Snapshot'
    const uid = `${this.#t.id}-${index}-${this.#desired[index]?.generation}`
    const ref = { name: this.#t.name(`content-${index}`) }
    return { resource, ref, prefix, uid, name: `${prefix.toLowerCase()}-${uid}` }
  }
}

function isGiven(index: number): boolean {
  return index % 4 === 2
}

function nameOf(content: Content | undefined): string {
  return content?.metadata?.annotations?.[NAME] ?? ''
}

function handleOf(content: Content | undefined): string | undefined {
  return content?.status?.snapshotHandle ?? content?.status?.volumeGroupSnapshotHandle
}

/** Reports whether the handle belongs to the snapshot with this name. The back end adds a number to the name. */
function isOf(handle: string, snapshot: string): boolean {
  return handle === snapshot || handle.replace(/-\d+$/, '') === snapshot
}

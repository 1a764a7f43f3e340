import { isDeepStrictEqual } from 'node:util'
import { Occurrences, type Random } from '@csi-sidecars/disturb'
import { type Call, createdVolume, type DriverReply, type FakeDriver, requiredBytes } from '../harness/driver/driver.ts'
import { pause, repeat } from '../harness/waiting.ts'
import { CREATED, described } from '../rows/snapshotter/scene.ts'

export const FIRST_BYTES = 1024 ** 3
export const FIRST_TIER = 'bronze'
export const METHODS = [
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'ControllerExpandVolume',
  'ControllerModifyVolume',
  'CreateVolume',
  'DeleteVolume',
  'CreateSnapshot',
  'DeleteSnapshot',
  'ListSnapshots',
  'CreateVolumeGroupSnapshot',
  'DeleteVolumeGroupSnapshot',
] as const

const NOT_FOUND = 5
const ALREADY_EXISTS = 6
const ABORTED = 10
const FAILED_PRECONDITION = 9
const UNAVAILABLE = 14
const LOOK_EVERY_MS = 20
/**
 * An abandoned call that a stalled machine delays longer has no effect. Otherwise it could change a volume or a snapshot
 * long after its caller has stopped to wait, which is a known limit of the sidecars.
 */
const MAX_LATE_MS = 1_000
/** The capacity and the topology of the only node. */
const CAPACITY = BigInt(1024 * FIRST_BYTES)
const TOPOLOGY = { segments: { host: 'node' } }
/** The gRPC codes after which a call may still run: DeadlineExceeded, Aborted, Unavailable. */
const BACKGROUND_CODES: readonly number[] = [4, 10, 14]

/** The course of a call to the driver: its duration, its effect and its answer. */
export interface CallOutcome {
  readonly ms: number
  readonly applies: boolean
  /** The answer: success, none (`never`), or an error with this gRPC code. */
  readonly ends: 'well' | 'never' | number
}

const WELL: CallOutcome = { ms: 5, applies: true, ends: 'well' }

/** The work of one call: its effect on a volume and its reply. */
interface Work {
  /** While a call runs, the driver answers other calls with the same key with Aborted. */
  readonly key: string
  readonly apply: () => void
  readonly reply: () => object
  /** Undoes the effect if the error code says that the call had no effect. */
  readonly undo?: () => void
  /** True if an earlier call has reported success. A later call must then not fail with a final error. */
  readonly reported?: boolean
  /** The call waits until this function returns true. */
  readonly when?: () => boolean
}

/** The simulated storage system behind a driver. It keeps its volumes when the driver restarts. */
export class BackEnd {
  /** The publish contexts by the pair of volume and node. Each publication has a new context. */
  readonly published = new Map<string, Readonly<Record<string, string>>>()
  /** The ids of the created volumes, by their names. */
  readonly created = new Map<string, string>()
  /** The ids of the snapshots and groups of snapshots, by their names. */
  readonly snapshots = new Map<string, string>()
  /** The names of volumes for which the driver has got different requests. */
  readonly refused = new Set<string>()
  /** The number of the next DeleteSnapshot calls that fail, by the handles of the snapshots. */
  readonly failingDeletions = new Map<string, number>()
  /** Called with each CreateVolume call. */
  onCreate: (call: Call) => void = () => undefined
  /** Called with each DeleteVolume call. */
  onDelete: (call: Call) => void = () => undefined
  snapshotsReady = true
  /** While true, no faults are injected into calls. */
  calm = true
  /** Chooses the outcome of a call while `calm` is false. Undefined means success. */
  readonly #disturb: (call: Call) => CallOutcome | undefined
  readonly #occurrences: Occurrences
  readonly #seenIds = new Set<string>()
  /** The requests of CreateVolume, by the names of the volumes. */
  readonly #creationRequests = new Map<string, Call['request']>()
  readonly #lostNodes = new Set<string>()
  /** The published pairs of volume and node whose publish context no caller has received. */
  readonly #unheard = new Set<string>()
  readonly #sizes = new Map<string, number>()
  readonly #tiers = new Map<string, string>()
  /** The names of snapshots whose handle a caller has received. */
  readonly #reported = new Set<string>()
  /** The parameters of the first creation of each snapshot, as JSON, by name. */
  readonly #parameters = new Map<string, string>()
  readonly #acceptsAnyParameters = new Set<string>()
  #publications = 0
  #creations = 0
  #running = new Set<string>()

  constructor(seed: number, driver: FakeDriver, disturb: (call: Call) => CallOutcome | undefined) {
    this.#occurrences = new Occurrences(seed)
    this.#disturb = disturb
    driver.on('ControllerPublishVolume', (call) => this.#publish(call))
    driver.on('ControllerUnpublishVolume', (call) => this.#unpublish(call))
    driver.on('ControllerExpandVolume', (call) => this.#expand(call))
    driver.on('ControllerModifyVolume', (call) => this.#modify(call))
    driver.on('CreateVolume', (call) => this.#create(call))
    driver.on('DeleteVolume', (call) => {
      this.onDelete(call)
      return this.#remove(call, this.created)
    })
    driver.on('CreateSnapshot', (call) => this.#createSnapshot(call, (id) => this.#single(id)))
    driver.on('CreateVolumeGroupSnapshot', (call) => this.#createSnapshot(call, (id) => this.#group(id)))
    driver.on('DeleteSnapshot', (call) => this.#remove(call, this.snapshots))
    driver.on('DeleteVolumeGroupSnapshot', (call) => this.#remove(call, this.snapshots))
    driver.on('ListSnapshots', (call) => this.#listSnapshots(call))
    driver.on('GetCapacity', (call) => this.#capacity(call))
    driver.on('NodeGetInfo', { reply: { nodeId: 'node', maxVolumesPerNode: 0n, accessibleTopology: TOPOLOGY } })
    driver.on('ListVolumes', () => ({ reply: { entries: this.#list(), nextToken: '' } }))
  }

  sizeOf(handle: string): number {
    return this.#sizes.get(handle) ?? FIRST_BYTES
  }

  tierOf(handle: string): string {
    return this.#tiers.get(handle) ?? FIRST_TIER
  }

  /** Reports whether a caller has received the current publish context of this pair of volume and node. */
  isHeard(pair: string): boolean {
    return !this.#unheard.has(pair)
  }

  /** The calls that may still have an effect, by the keys of their work. */
  get running(): readonly string[] {
    return [...this.#running]
  }

  /** Simulates the end of the driver process: its running calls have no further effect. */
  forgetCalls(): void {
    this.#running = new Set()
  }

  /** Simulates the deletion of a node: its volumes are unpublished, and later publications fail. */
  loseNode(nodeId: string): void {
    this.#lostNodes.add(nodeId)
    for (const pair of [...this.published.keys()]) if (pair.endsWith(pairOf('', nodeId))) this.published.delete(pair)
  }

  #publish(call: Call): DriverReply {
    const handle = handleOf(call)
    const pair = pairOf(handle, nodeOf(call))
    this.#seenIds.add(handle)
    if (this.#lostNodes.has(nodeOf(call))) return { code: NOT_FOUND, message: 'there is no such node' }
    const elsewhere = (): boolean =>
      isSingleNode(call) &&
      [...this.published.keys()].some((each) => each !== pair && each.startsWith(pairOf(handle, '')))
    const apply = (): void => {
      if (this.published.has(pair) || this.#lostNodes.has(nodeOf(call))) return
      this.#publications += 1
      this.#unheard.add(pair)
      this.published.set(pair, { pair, [`publication-${this.#publications}`]: 'yes' })
    }
    const reply = (): object => {
      if (!call.cancelled) this.#unheard.delete(pair)
      return { publishContext: this.published.get(pair) ?? {} }
    }
    const work: Work = { key: pair, apply, reply }
    if (!elsewhere()) return this.#answer(call, work)
    // The volume is still published to another node. The driver either waits for the unpublish or refuses the call.
    if (this.#next(call, 'wait')() < 0.5) return this.#answer(call, { ...work, when: () => !elsewhere() })
    return { code: FAILED_PRECONDITION, message: 'the volume is published to another node' }
  }

  #unpublish(call: Call): DriverReply {
    const pair = pairOf(handleOf(call), nodeOf(call))
    return this.#answer(call, { key: pair, apply: () => this.published.delete(pair), reply: () => ({}) })
  }

  #expand(call: Call): DriverReply {
    const handle = handleOf(call)
    const bytes = Math.max(this.sizeOf(handle), Number(requiredBytes(call.request)))
    return this.#answer(call, {
      key: `expand ${handle}`,
      apply: () => this.#sizes.set(handle, bytes),
      reply: () => ({ capacityBytes: BigInt(bytes), nodeExpansionRequired: false }),
    })
  }

  #modify(call: Call): DriverReply {
    const handle = handleOf(call)
    const { tier = FIRST_TIER } = (call.request['mutable_parameters'] ?? {}) as { tier?: string }
    const apply = (): unknown => this.#tiers.set(handle, tier)
    return this.#answer(call, { key: `modify ${handle}`, apply, reply: () => ({}) })
  }

  #create(call: Call): DriverReply {
    this.onCreate(call)
    const name = String(call.request['name'])
    if (this.created.has(name) && !isSameCreation(call.request, this.#creationRequests.get(name))) {
      this.refused.add(name)
      return { code: ALREADY_EXISTS, message: 'the volume was created by another request' }
    }
    this.#creationRequests.set(name, call.request)
    const source = call.request['volume_content_source'] === undefined ? {} : { contentSource: { type: undefined } }
    const reply = (volumeId: string): object => ({ volume: createdVolume(call.request, { volumeId, ...source }) })
    return this.#answer(call, this.#creation(call, this.created, reply))
  }

  /** Called when no sidecar knows the first request for a snapshot. Without a name, this applies to all snapshots. */
  acceptAnyParameters(name?: string): void {
    for (const each of name === undefined ? this.#parameters.keys() : [name]) this.#acceptsAnyParameters.add(each)
  }

  #createSnapshot(call: Call, replyOf: (id: string) => object): DriverReply {
    const name = String(call.request['name'])
    const parameters = JSON.stringify(call.request['parameters'] ?? {})
    const isKnown = this.snapshots.has(name) && !this.#acceptsAnyParameters.has(name)
    if (isKnown && this.#parameters.get(name) !== parameters)
      return { code: ALREADY_EXISTS, message: `${name} has other parameters` }
    if (!this.snapshots.has(name)) this.#parameters.set(name, parameters)
    const work = this.#creation(call, this.snapshots, (id) => {
      if (!call.cancelled) this.#reported.add(name)
      return replyOf(id)
    })
    return this.#answer(call, { ...work, reported: this.#reported.has(name) })
  }

  /** Returns the work of a call that creates a volume or snapshot. An existing name keeps its ID. */
  #creation({ request }: Call, made: Map<string, string>, replyOf: (id: string) => object): Work {
    const name = String(request['name'])
    const apply = (): void => {
      if (made.has(name)) return
      this.#creations += 1
      made.set(name, `${name}-${this.#creations}`)
    }
    return { key: `create ${name}`, apply, reply: () => replyOf(made.get(name) ?? ''), undo: () => made.delete(name) }
  }

  #capacity(call: Call): DriverReply {
    const reply = (): object => ({ availableCapacity: CAPACITY })
    return this.#answer(call, { key: 'capacity', apply: () => undefined, reply })
  }

  #remove(call: Call, made: Map<string, string>): DriverReply {
    const id = handleOf(call)
    const failing = this.failingDeletions.get(id) ?? 0
    if (failing > 0) {
      this.failingDeletions.set(id, failing - 1)
      return { code: ABORTED, message: `${id}: the deletion fails` }
    }
    const name = [...made].find(([, each]) => each === id)?.[0] ?? id
    const apply = (): void => {
      if (made.get(name) === id) made.delete(name)
    }
    return this.#answer(call, { key: `create ${name}`, apply, reply: () => ({}) })
  }

  #listSnapshots(call: Call): DriverReply {
    const id = handleOf(call)
    const isThere = (): boolean => [...this.snapshots.values()].includes(id)
    const reply = (): object => ({ entries: isThere() ? [this.#single(id)] : [], nextToken: '' })
    return this.#answer(call, { key: `list ${id}`, apply: () => undefined, reply })
  }

  #single(snapshotId: string): object {
    return { snapshot: described({ snapshotId, readyToUse: this.snapshotsReady }) }
  }

  #group(groupSnapshotId: string): object {
    const snapshots = ['1', '2'].map((n) => described({ snapshotId: groupSnapshotId + n, sourceVolumeId: `vol-${n}` }))
    return { groupSnapshot: { groupSnapshotId, snapshots, creationTime: CREATED, readyToUse: this.snapshotsReady } }
  }

  #list(): readonly object[] {
    return [...this.#seenIds].map((volumeId) => ({
      volume: { volumeId, capacityBytes: 0n, volumeContext: {}, contentSource: undefined, accessibleTopology: [] },
      status: {
        publishedNodeIds: [...this.published.keys()]
          .filter((pair) => pair.startsWith(pairOf(volumeId, '')))
          .map((pair) => pair.slice(pairOf(volumeId, '').length)),
      },
    }))
  }

  #answer(call: Call, work: Work): DriverReply {
    if (this.#running.has(work.key)) return { code: ABORTED, message: `${work.key}: a call is running` }
    const drawn = (this.calm ? undefined : this.#disturb(call)) ?? WELL
    const outcome = work.reported === true && isFinal(drawn) ? { ...drawn, ends: UNAVAILABLE } : drawn
    const after = this.#carryOut(call, work, outcome)
    if (typeof outcome.ends === 'number')
      return { code: outcome.ends, message: `code ${outcome.ends} by chance`, after }
    return { reply: work.reply, after }
  }

  async #carryOut(call: Call, { key, apply, undo, when = () => true }: Work, outcome: CallOutcome): Promise<void> {
    const running = this.#running
    running.add(key)
    const alive = (): boolean => this.#running === running
    const began = performance.now()
    await pause(outcome.ms)
    const isLate = call.cancelled && performance.now() - began > outcome.ms + MAX_LATE_MS
    await repeat(LOOK_EVERY_MS, () => !when() && alive() && !call.cancelled)
    if (outcome.applies && alive() && when() && !isLate) apply()
    if (alive() && isFinal(outcome)) undo?.()
    running.delete(key)
    await repeat(LOOK_EVERY_MS, () => outcome.ends === 'never' && alive() && !call.cancelled)
  }

  /** Returns random numbers that depend only on the call and on how often it was repeated. */
  #next({ method, request }: Call, purpose: string): Random {
    return this.#occurrences.next(
      `${purpose} ${method} ${request['name'] ?? request['volume_id']} ${request['node_id']}`,
    )
  }
}

/** Reports whether two requests of CreateVolume ask for the same volume. Only their Secrets may differ. */
function isSameCreation(request: Call['request'], other: Call['request'] = request): boolean {
  return isDeepStrictEqual({ ...request, secrets: {} }, { ...other, secrets: {} })
}

function isFinal({ ends }: CallOutcome): boolean {
  return typeof ends === 'number' && !BACKGROUND_CODES.includes(ends)
}

export function pairOf(handle: string, nodeId: string): string {
  return `${handle} on ${nodeId}`
}

/** Returns the id of the volume, snapshot or group of snapshots that a call is about. */
export function handleOf({ request }: Call): string {
  return String(request['volume_id'] ?? request['snapshot_id'] ?? request['group_snapshot_id'])
}

export function nodeOf({ request }: Call): string {
  return String(request['node_id'])
}

export function isSingleNode({ request }: Call): boolean {
  const { access_mode } = (request['volume_capability'] ?? {}) as { access_mode?: { mode?: string } }
  return access_mode?.mode?.startsWith('SINGLE_NODE') === true
}

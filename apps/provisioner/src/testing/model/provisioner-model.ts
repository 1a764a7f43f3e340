import { invariant } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type CreateVolumeRequest,
} from '@csi-sidecars/csi-proto'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  SECRETS,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { FakeApi, type InFlight } from '@csi-sidecars/testkit'
import { SNAPSHOT_FINALIZER, VOLUME_FINALIZER } from '../../caches/names.ts'
import type { ProvisionerSettings } from '../../parts.ts'
import { CLAIM_FINALIZER, Process } from './process.ts'
import { DRIVER, isSameCreation, ModelStorage } from './storage.ts'

export const CLAIMS = ['a', 'b'] as const
const NAMESPACE = 'ns'
const CLASS = { name: 'fast' }
const ATTRIBUTES = { name: 'gold' }
const SECRET = { namespace: NAMESPACE, name: 'creds' }
const SNAPSHOT = { namespace: NAMESPACE, name: 'snap' }
const GROUP = 'snapshot.storage.k8s.io'
const SECRET_KEYS = {
  'csi.storage.k8s.io/provisioner-secret-name': SECRET.name,
  'csi.storage.k8s.io/provisioner-secret-namespace': SECRET.namespace,
}

/** Faults of the API server: error responses, and a lost connection with the code 0. */
const API_FAULTS = [
  { code: 0, reason: '', message: 'connection reset', outcomeUnknown: true },
  { code: 409, reason: 'Conflict', message: 'the object has been modified' },
  { code: 422, reason: 'Invalid', message: 'no' },
  { code: 403, reason: 'Forbidden', message: 'no' },
  { code: 500, reason: 'InternalError', message: 'etcd is away' },
] as const
/** Without the right to write VolumeSnapshots, a restore runs without the finalizer. The model has all rights. */
const NO_FORBIDDEN = API_FAULTS.filter(({ code }) => code !== 403)

function apiFaultOf(label: string, fault: number): (typeof API_FAULTS)[number] {
  const faults = label.includes('volumesnapshots') ? NO_FORBIDDEN : API_FAULTS
  return faults[fault % faults.length] ?? API_FAULTS[0]
}

/** The gRPC codes after which the driver may continue the creation. */
const NOT_FINAL = ['DeadlineExceeded', 'Unavailable', 'Aborted', 'Canceled'] as const satisfies readonly CodeName[]
const NOT_FINAL_CODES: ReadonlySet<number> = new Set(NOT_FINAL.map((name) => CODES[name]))
/** Some drivers also refuse an equal request, for example while their storage still creates the volume. */
const ANSWERS_TO_KNOWN_VOLUME = [...NOT_FINAL, 'AlreadyExists'] as const
const FINAL = ['Internal', 'InvalidArgument', 'ResourceExhausted'] as const satisfies readonly CodeName[]

/** A time that is several times the longest back-off. */
const LONG_MS = 10 * 60_000

/** The seconds in which the driver refuses all creations. */
const REFUSED_SECONDS = 60
/** In this time a back-off of 1, 2, 4, 8, 16 and 32 seconds allows 7 tries. A change by a user allows one more. */
const MAX_TRIES = 10
/** The maximum number of writes of a claim for each try: our finalizer comes and goes, and each write may conflict once. */
const MAX_WRITES_PER_TRY = 4

/**
 * A model of a cluster with a storage, a PV controller and at most one provisioner at a time. `checkAlways` throws if
 * a volume was deleted that a PersistentVolume still needed.
 */
export class ProvisionerModel {
  readonly clock = new FakeClock()
  readonly api: FakeApi<ApiError> = new FakeApi({ clock: this.clock, errorOf: apiErrorOf })
  readonly storage = new ModelStorage()
  process: Process | undefined
  /** True if a process was killed or lost its lease, so that the facts in its memory are lost. */
  hasCrashed = false
  readonly #settings: Partial<ProvisionerSettings>
  /** The names of volumes for which the driver has another request. */
  readonly refused = new Set<string>()
  /** The first requests of the calls of this process whose outcome is unknown, by the names of the volumes. */
  readonly #uncertain = new Map<string, CreateVolumeRequest>()
  /** The names of volumes whose running CreateVolume call repeats a call of this process with an unknown outcome. */
  readonly #repeated = new Set<string>()
  /** The last request for each volume. */
  readonly #sent = new Map<string, CreateVolumeRequest>()
  /** The volumes that the calls of this process restore from the snapshot. */
  readonly #restores = new Set<string>()
  /** The handles of volumes whose PersistentVolumes a user has stripped. */
  readonly #abandoned = new Set<string>()
  #inputVersion = 1
  /** The events of ended processes. */
  readonly #events: string[] = []
  #violation: unknown

  constructor(settings: Partial<ProvisionerSettings> = {}) {
    this.#settings = settings
    this.createClass()
    this.createInputs()
    this.#createSnapshot()
  }

  #createSnapshot(): void {
    const head = { apiVersion: `${GROUP}/v1` }
    const { metadata } = this.api.server.create(VOLUME_SNAPSHOTS, {
      ...head,
      kind: 'VolumeSnapshot',
      metadata: SNAPSHOT,
      spec: { source: { volumeSnapshotContentName: 'content' } },
      status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, restoreSize: '1Gi' },
    })
    this.api.server.create(VOLUME_SNAPSHOT_CONTENTS, {
      ...head,
      kind: 'VolumeSnapshotContent',
      metadata: { name: 'content' },
      spec: {
        driver: DRIVER,
        deletionPolicy: 'Delete',
        source: { snapshotHandle: 'handle' },
        volumeSnapshotRef: { ...SNAPSHOT, uid: metadata?.uid },
      },
      status: { readyToUse: true, snapshotHandle: 'handle' },
    })
  }

  start(): void {
    this.process ??= new Process({
      api: this.api,
      clock: this.clock,
      storage: this.storage,
      settings: this.#settings,
      controller: [ControllerRpc.CREATE_DELETE_SNAPSHOT, ControllerRpc.LIST_VOLUMES, ControllerRpc.MODIFY_VOLUME],
      onCreate: (_, request) => this.#creates(request),
      onAnswer: (request, error) => this.#answered(request, error),
      onDeletion: (handle) => this.#deletes(handle),
      onDelete: () => {},
    })
  }

  kill(): void {
    if (this.process === undefined) return
    this.process.kill()
    this.#end()
  }

  depose(): void {
    if (this.process === undefined) return
    this.process.depose()
    this.#end()
  }

  #end(): void {
    this.#uncertain.clear()
    this.#repeated.clear()
    this.#restores.clear()
    this.#events.push(...(this.process?.events ?? []))
    this.process = undefined
    this.hasCrashed = true
  }

  flightAt(pick: number): InFlight | undefined {
    const flights = this.process?.gate.inFlight ?? []
    return flights[pick % flights.length]
  }

  /** Fails an API request or a CSI call. After an error that is not final, the driver may continue the call. */
  failFlight({ label, applied, answer }: InFlight, fault: number): void {
    if (!label.startsWith('call ')) {
      const { code, reason, message } = apiFaultOf(label, fault)
      const outcomeUnknown = code === 0
      // An API request that has taken effect cannot be refused, so the API server answers it normally.
      if (applied && code !== 0) return answer()
      return answer(new ApiError({ code, reason, message, outcomeUnknown }))
    }
    const [, method, volume = ''] = label.split(' ')
    const isFinal = fault % 2 === 0 && !applied && this.storage.handleOf(volume) === undefined
    const isKnown = method === 'create' && this.#repeated.has(volume) && this.#mayHave(volume)
    const notFinal: readonly CodeName[] = isKnown ? ANSWERS_TO_KNOWN_VOLUME : NOT_FINAL
    const codes: readonly CodeName[] = isFinal ? FINAL : notFinal
    const code = codes[fault % codes.length] ?? 'Internal'
    if (method === 'create') {
      const request = this.#sent.get(volume)
      if (isFinal) this.storage.late.delete(volume)
      else if (!applied && fault % 3 === 0 && request !== undefined) this.storage.late.set(volume, request)
    }
    answer(new RpcError(CODES[code], 'no'))
  }

  /** Reports whether the driver has the volume of this name, or still creates it. */
  #mayHave(volume: string): boolean {
    return this.storage.handleOf(volume) !== undefined || this.storage.late.has(volume)
  }

  createClass(provisioner = DRIVER): void {
    if (this.api.server.get(STORAGE_CLASSES, CLASS) !== undefined) return
    const version = `${this.#inputVersion}`
    const parameters = { ...SECRET_KEYS, version }
    const storageClass = { metadata: CLASS, provisioner, reclaimPolicy: 'Delete', parameters, mountOptions: [version] }
    this.api.server.create(STORAGE_CLASSES, storageClass)
  }

  /** Recreates the class, the VolumeAttributesClass and the Secret with other parameters. */
  recreateInputs(provisioner = DRIVER): void {
    this.#inputVersion += 1
    this.deleteClass()
    this.createClass(provisioner)
    this.createInputs()
  }

  /** Creates or changes the VolumeAttributesClass and the Secret. */
  createInputs(): void {
    const version = `${this.#inputVersion}`
    this.api.store(VOLUME_ATTRIBUTES_CLASSES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: ATTRIBUTES,
      driverName: DRIVER,
      parameters: { version },
    })
    this.api.store(SECRETS, { metadata: SECRET, data: { version: btoa(version) } })
  }

  deleteInputs(): void {
    this.api.delete(VOLUME_ATTRIBUTES_CLASSES, ATTRIBUTES)
    this.api.delete(SECRETS, SECRET)
  }

  deleteClass(): void {
    this.api.delete(STORAGE_CLASSES, CLASS)
  }

  createClaim(name: string, isRestored = false): void {
    if (this.claim(name) !== undefined) return
    const dataSource = { apiGroup: GROUP, kind: 'VolumeSnapshot', name: SNAPSHOT.name }
    this.api.server.create(PERSISTENT_VOLUME_CLAIMS, {
      metadata: {
        namespace: NAMESPACE,
        name,
        annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER },
        // This finalizer keeps a deleted claim until the PV controller has handled the deletion.
        finalizers: ['kubernetes.io/pvc-protection'],
      },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: CLASS.name,
        volumeAttributesClassName: ATTRIBUTES.name,
        resources: { requests: { storage: '1Gi' } },
        ...(isRestored && { dataSource, dataSourceRef: dataSource }),
      },
      status: { phase: 'Pending' },
    })
  }

  deleteClaim(name: string): void {
    this.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name })
  }

  touchClaim(name: string): void {
    const labels = { touched: `${this.api.server.resourceVersion}` }
    this.api.edit(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name }, { metadata: { labels } })
  }

  claim(name: string): PersistentVolumeClaim | undefined {
    return this.api.server.get(PERSISTENT_VOLUME_CLAIMS, { namespace: NAMESPACE, name })
  }

  get claims(): readonly PersistentVolumeClaim[] {
    return this.api.server.list(PERSISTENT_VOLUME_CLAIMS)
  }

  get volumes(): readonly PersistentVolume[] {
    return this.api.server.list(PERSISTENT_VOLUMES)
  }

  /** Sets the reclaim policy of the volumes of a claim to Retain, unless their deletion has begun. */
  retain(name: string): void {
    this.#setPolicy(name, 'Retain')
  }

  /** Sets the reclaim policy of the volumes of a claim to Delete. */
  unretain(name: string): void {
    this.#setPolicy(name, 'Delete')
  }

  #setPolicy(name: string, persistentVolumeReclaimPolicy: 'Delete' | 'Retain'): void {
    if (this.#isDeleting) return
    const body = { spec: { persistentVolumeReclaimPolicy } }
    for (const { metadata, spec } of this.volumes) {
      // The deletion of the volume may have succeeded, while its PersistentVolume still exists.
      if (!this.storage.volumes.has(spec?.csi?.volumeHandle ?? '')) continue
      if (spec?.claimRef?.name === name) this.api.edit(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' }, body)
    }
  }

  /** Retains the released volumes of a claim and removes all finalizers in one edit, then deletes the objects. */
  stripVolumes(name: string): void {
    if (this.#isDeleting) return
    const body = { metadata: { finalizers: null }, spec: { persistentVolumeReclaimPolicy: 'Retain' } }
    for (const { metadata, spec, status } of this.volumes) {
      if (spec?.claimRef?.name !== name || status?.phase !== 'Released') continue
      this.#abandoned.add(spec.csi?.volumeHandle ?? '')
      this.api.edit(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' }, body)
      this.api.delete(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' })
    }
  }

  /** True if a DeleteVolume call is running, or its last check has read the volume. A later edit cannot stop the call. */
  get #isDeleting(): boolean {
    const flights = this.process?.gate.inFlight ?? []
    return flights.some(({ label, applied }) => {
      if (label.startsWith('call delete')) return true
      return applied && label.startsWith('get persistentvolumes/')
    })
  }

  /** Runs the PV controller once: it binds volumes to claims, releases volumes, and removes its own finalizers. */
  controlVolumes(): void {
    for (const { metadata, spec } of this.volumes) {
      const ref = { name: metadata?.name ?? '' }
      const claim = this.claims.find((each) => each.metadata?.uid === spec?.claimRef?.uid)
      if (claim === undefined) this.api.edit(PERSISTENT_VOLUMES, ref, { status: { phase: 'Released' } })
      else if (claim.spec?.volumeName === undefined || claim.spec.volumeName === ref.name) this.#bind(ref, claim)
      this.#unprotect(PERSISTENT_VOLUMES, ref, metadata?.finalizers)
    }
    for (const { metadata } of this.claims) {
      if (metadata?.deletionTimestamp == null) continue
      const ref = { namespace: NAMESPACE, name: metadata.name ?? '' }
      this.#unprotect(PERSISTENT_VOLUME_CLAIMS, ref, metadata.finalizers)
    }
  }

  #bind(ref: { readonly name: string }, { metadata }: PersistentVolumeClaim): void {
    this.api.edit(PERSISTENT_VOLUMES, ref, { status: { phase: 'Bound' } })
    const claim = { namespace: NAMESPACE, name: metadata?.name ?? '' }
    this.api.edit(PERSISTENT_VOLUME_CLAIMS, claim, { spec: { volumeName: ref.name }, status: { phase: 'Bound' } })
  }

  /** Removes the finalizers of Kubernetes itself from an object. */
  #unprotect(
    resource: typeof PERSISTENT_VOLUMES | typeof PERSISTENT_VOLUME_CLAIMS,
    ref: { readonly namespace?: string; readonly name: string },
    finalizers: readonly string[] = [],
  ): void {
    const kept = finalizers.filter((name) => name === VOLUME_FINALIZER || name === CLAIM_FINALIZER)
    if (kept.length < finalizers.length) this.api.edit(resource, ref, { metadata: { finalizers: kept } })
  }

  #creates(request: CreateVolumeRequest): void {
    const { name, volumeContentSource } = request
    const first = this.#uncertain.get(name)
    if (first === undefined) this.#repeated.delete(name)
    else this.#repeated.add(name)
    if (first !== undefined && !isSameCreation(first, request))
      this.#violation ??= new Error(`the repeated CreateVolume call for ${name} differs from the first call`)
    this.#uncertain.set(name, first ?? structuredClone(request))
    this.#sent.set(name, structuredClone(request))
    if (volumeContentSource !== undefined) this.#restores.add(name)
  }

  #answered({ name }: CreateVolumeRequest, error: unknown): void {
    const code = error instanceof RpcError ? error.code : undefined
    const isRefused = code === CODES.AlreadyExists
    if (isRefused) this.refused.add(name)
    const isCertain = error === undefined || (code !== undefined && !isRefused && !NOT_FINAL_CODES.has(code))
    // After a crash, the first call is lost, and the driver may refuse every other call.
    if (!isCertain && !(isRefused && this.hasCrashed)) return
    this.#uncertain.delete(name)
    this.#restores.delete(name)
  }

  /** Checks that the newest objects allow the DeleteVolume call. */
  #deletes(handle: string): void {
    if (this.#abandoned.has(handle)) this.#violation ??= new Error(`${handle} is deleted, but a user keeps it`)
    const owner = this.volumes.find(({ spec }) => spec?.csi?.volumeHandle === handle)
    const { phase } = owner?.status ?? {}
    const isReleased = phase === 'Released' && owner?.spec?.persistentVolumeReclaimPolicy === 'Delete'
    if (owner === undefined || isReleased) return
    this.#violation ??= new Error(`${handle} is deleted, and the PersistentVolume ${owner.metadata?.name} is ${phase}`)
  }

  #checkSources(): void {
    const { finalizers } = this.api.server.get(VOLUME_SNAPSHOTS, SNAPSHOT)?.metadata ?? {}
    if (this.#restores.size === 0 || finalizers?.includes(SNAPSHOT_FINALIZER) === true) return
    throw new Error(`the snapshot is not protected during the restore of ${[...this.#restores].join()}`)
  }

  /** A process that still knows the first request can repeat the call, so it must not give the volume up. */
  #checkOrphans(): void {
    if (this.hasCrashed) return
    const event = this.process?.events.find((each) => each.includes('may be orphaned'))
    invariant(event === undefined, `a process that knows the request gives the volume up: ${event}`)
  }

  checkAlways(): void {
    if (this.#violation !== undefined) throw this.#violation
    this.#checkSources()
    this.#checkOrphans()
    const bad = this.process?.log.lines.find(({ message }) => message.startsWith('Informer handler failed'))
    invariant(bad === undefined, `a handler threw: ${String(bad?.error)}`)
  }

  /**
   * Lets the driver refuse all creations for a minute, while the API server answers all requests. A lasting error must
   * cost what the back-off says, whether the watch delivers the writes of the process before their answers or after them.
   */
  async refuseCreations(watch: 'before the answers' | 'after the answers'): Promise<void> {
    const counts = new Map<string, number>()
    for (let second = 0; second < REFUSED_SECONDS; second += 1) {
      for (;;) {
        this.process?.deliver()
        await this.clock.settle()
        const flight = this.flightAt(0)
        if (flight === undefined) break
        if (!this.#countsTry(flight, counts)) return
        await this.#refuse(flight, watch)
      }
      await this.clock.advance(1_000)
    }
  }

  async #refuse(flight: InFlight, watch: 'before the answers' | 'after the answers'): Promise<void> {
    if (flight.label.startsWith('call create')) return this.failFlight(flight, 2)
    if (watch === 'before the answers') {
      flight.apply()
      await this.clock.settle()
      this.process?.deliver()
      await this.clock.settle()
    }
    flight.answer()
  }

  /** Counts the calls and writes of each claim. Returns false, and records the violation, if there are too many. */
  #countsTry({ label, request }: InFlight, counts: Map<string, number>): boolean {
    const isCall = label.startsWith('call create')
    const isWrite = request?.verb === 'replace' && request.resource === 'persistentvolumeclaims'
    if (!isCall && !isWrite) return true
    const count = (counts.get(label) ?? 0) + 1
    counts.set(label, count)
    if (count <= (isCall ? MAX_TRIES : MAX_TRIES * MAX_WRITES_PER_TRY)) return true
    this.#violation ??= new Error(`a lasting error causes more requests than the back-off allows: ${label}`)
    return false
  }

  /** Returns the handles in the report of the process as volumes that no object names. */
  async unreferenced(): Promise<readonly string[]> {
    const sources = (await this.process?.unreferenced.read()) ?? []
    return sources.flatMap(({ items }) => items.flatMap(({ reason, handle }) => (reason === 'NoObject' ? handle : [])))
  }

  /** Checks that the report names no volume of a PersistentVolume, and none of a CreateVolume call that may run. */
  async checkReport(): Promise<void> {
    const named = await this.unreferenced()
    const owned = new Map(this.volumes.map(({ metadata, spec }) => [spec?.csi?.volumeHandle ?? '', metadata?.name]))
    for (const handle of named) {
      const name = this.storage.volumes.get(handle)
      invariant(
        !owned.has(handle),
        `${handle} is in the report, and the PersistentVolume ${owned.get(handle)} names it`,
      )
      invariant(name === undefined || !this.#uncertain.has(name), `${handle} is in the report during its creation`)
    }
  }

  /** Lets the driver end the creations that it continues after a call without an answer. */
  continueCreations(): void {
    for (const request of [...this.storage.late.values()]) {
      if (!this.storage.refuses(request)) this.storage.create(request)
    }
  }

  /**
   * Ends all faults, delivers all events, and lets enough time pass to converge. With `gone`, the class, the Secret and the
   * VolumeAttributesClass are gone for a long time before they return. No claim may then stay in deletion.
   */
  async calmDown(inputs: 'returned' | 'gone' = 'returned'): Promise<void> {
    this.continueCreations()
    if (inputs === 'gone') {
      this.deleteClass()
      this.deleteInputs()
      await this.#passLong(2)
      for (const { metadata } of this.claims)
        invariant(metadata?.deletionTimestamp == null, `without inputs, the claim ${metadata?.name} is never gone`)
    }
    this.recreateInputs()
    await this.#passLong(6)
    await this.clock.advance(LONG_MS)
  }

  /** Lets time pass without faults, with a running process and the PV controller. */
  async #passLong(turns: number): Promise<void> {
    this.start()
    const { process } = this
    invariant(process !== undefined, 'a process runs')
    process.deliverAtOnce()
    process.gate.open()
    for (let turn = 0; turn < turns; turn += 1) {
      process.deliver()
      await this.clock.advance(LONG_MS)
      this.controlVolumes()
    }
  }

  /** Reports whether a process has crashed after it sent a request, and the driver refuses all later requests. */
  #isLost(name: string): boolean {
    return this.hasCrashed && this.refused.has(name)
  }

  /** Reports whether a claim keeps our finalizer, because the volume of its lost request may exist. */
  #isAwaited(name: string): boolean {
    const claim = this.claims.find(({ metadata }) => `pvc-${metadata?.uid}` === name)
    return this.#isLost(name) && claim?.metadata?.finalizers?.includes(CLAIM_FINALIZER) === true
  }

  checkConverged({ leaksAllowed }: { readonly leaksAllowed: boolean }): void {
    this.checkAlways()
    for (const { metadata, spec } of this.claims) {
      const name = metadata?.name ?? ''
      invariant(metadata?.deletionTimestamp == null, `the claim ${name} is never gone`)
      // No class has the parameters of the first call, so the claim keeps the finalizer.
      if (this.#isLost(`pvc-${metadata?.uid}`)) continue
      invariant(metadata?.finalizers?.includes(CLAIM_FINALIZER) !== true, `the claim ${name} is still marked`)
      const pv = this.volumes.find((each) => each.metadata?.name === spec?.volumeName)
      invariant(pv?.spec?.claimRef?.uid === metadata?.uid, `the claim ${name} has no volume`)
    }
    const owned = new Set(this.volumes.map(({ spec }) => spec?.csi?.volumeHandle ?? ''))
    for (const { metadata, spec, status } of this.volumes) {
      const handle = spec?.csi?.volumeHandle ?? ''
      invariant(metadata?.deletionTimestamp == null, `the PersistentVolume ${metadata?.name} is never gone`)
      const isKept = spec?.persistentVolumeReclaimPolicy === 'Retain'
      invariant(this.storage.volumes.has(handle), `the volume of ${metadata?.name} is gone`)
      const { phase } = status ?? {}
      invariant(phase === 'Bound' || isKept, `the PersistentVolume ${metadata?.name} is ${phase} and never deleted`)
    }
    const { finalizers = [] } = this.api.server.get(VOLUME_SNAPSHOTS, SNAPSHOT)?.metadata ?? {}
    const isRestoring = this.claims.some(({ metadata }) => this.#isLost(`pvc-${metadata?.uid}`))
    // Without the search, the finalizer stays if the claim is deleted while it is put on the snapshot.
    const isForgotten = this.#settings.sweepMs === 0
    invariant(isRestoring || isForgotten || finalizers.length === 0, 'the snapshot keeps our finalizer')
    if (leaksAllowed) return
    const events = [...this.#events, ...(this.process?.events ?? [])]
    const isNamed = (name: string): boolean => events.some((event) => event.includes(`${name} may be orphaned`))
    for (const [handle, name] of this.storage.volumes)
      invariant(
        owned.has(handle) || this.#abandoned.has(handle) || this.#isAwaited(name) || isNamed(name),
        `${handle} of ${name} leaks, and no event names it`,
      )
  }
}

import { invariant } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { ApiError, apiErrorOf } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { FakeApi, type InFlight } from '@csi-sidecars/testkit'
import { VOLUME_FINALIZER } from '../../caches/names.ts'
import type { ProvisionerSettings } from '../../parts.ts'
import { CLAIM_FINALIZER, Process } from './process.ts'
import { DRIVER, ModelStorage } from './storage.ts'

export const CLAIMS = ['a', 'b'] as const
const NAMESPACE = 'ns'
const CLASS = { name: 'fast' }

/** Faults of the API server: error responses, and a lost connection with the code 0. */
const API_FAULTS = [
  { code: 0, reason: '', message: 'connection reset', outcomeUnknown: true },
  { code: 409, reason: 'Conflict', message: 'the object has been modified' },
  { code: 422, reason: 'Invalid', message: 'no' },
  { code: 403, reason: 'Forbidden', message: 'no' },
  { code: 500, reason: 'InternalError', message: 'etcd is away' },
] as const
/** The gRPC codes after which the driver may continue the creation. */
const NOT_FINAL = ['DeadlineExceeded', 'Unavailable', 'Aborted', 'Canceled'] as const satisfies readonly CodeName[]
const FINAL = ['Internal', 'InvalidArgument', 'ResourceExhausted'] as const satisfies readonly CodeName[]

/** A time that is several times the longest back-off. */
const LONG_MS = 10 * 60_000

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
  /** The events of ended processes. */
  readonly #events: string[] = []
  #violation: unknown

  constructor(settings: Partial<ProvisionerSettings> = {}) {
    this.#settings = settings
    this.createClass()
  }

  start(): void {
    this.process ??= new Process({
      api: this.api,
      clock: this.clock,
      storage: this.storage,
      settings: this.#settings,
      onCreate: () => {},
      onDelete: (handle) => this.#deleted(handle),
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
      const { code, reason, message } = API_FAULTS[fault % API_FAULTS.length] ?? API_FAULTS[0]
      const outcomeUnknown = code === 0
      // An API request that has taken effect cannot be refused, so the API server answers it normally.
      if (applied && code !== 0) return answer()
      return answer(new ApiError({ code, reason, message, outcomeUnknown }))
    }
    const [, method, volume = ''] = label.split(' ')
    const isFinal = fault % 2 === 0 && !applied && this.storage.handleOf(volume) === undefined
    const codes: readonly CodeName[] = isFinal ? FINAL : NOT_FINAL
    const code = codes[fault % codes.length] ?? 'Internal'
    if (method === 'create') {
      if (isFinal) this.storage.late.delete(volume)
      else if (!applied && fault % 3 === 0) this.storage.late.add(volume)
    }
    answer(new RpcError(CODES[code], 'no'))
  }

  createClass(): void {
    if (this.api.server.get(STORAGE_CLASSES, CLASS) !== undefined) return
    this.api.server.create(STORAGE_CLASSES, { metadata: CLASS, provisioner: DRIVER, reclaimPolicy: 'Delete' })
  }

  deleteClass(): void {
    this.api.delete(STORAGE_CLASSES, CLASS)
  }

  createClaim(name: string): void {
    if (this.claim(name) !== undefined) return
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
        resources: { requests: { storage: '1Gi' } },
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

  /** Sets the reclaim policy Retain on volumes in use. The deletion of other volumes may have begun. */
  retain(name: string): void {
    const body = { spec: { persistentVolumeReclaimPolicy: 'Retain' } }
    for (const { metadata, spec, status } of this.volumes) {
      const isInUse = status?.phase !== 'Released'
      if (isInUse && spec?.claimRef?.name === name)
        this.api.edit(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' }, body)
    }
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

  #deleted(handle: string): void {
    const owner = this.volumes.find(({ spec }) => spec?.csi?.volumeHandle === handle)
    const { phase } = owner?.status ?? {}
    const isReleased = phase === 'Released' && owner?.spec?.persistentVolumeReclaimPolicy === 'Delete'
    if (owner === undefined || isReleased) return
    this.#violation ??= new Error(`${handle} is deleted, and the PersistentVolume ${owner.metadata?.name} is ${phase}`)
  }

  checkAlways(): void {
    if (this.#violation !== undefined) throw this.#violation
    const bad = this.process?.log.lines.find(({ message }) => message.startsWith('Informer handler failed'))
    invariant(bad === undefined, `a handler threw: ${String(bad?.error)}`)
  }

  /** Ends all faults, delivers all events, and lets enough time pass to converge. */
  async calmDown(): Promise<void> {
    this.createClass()
    for (const name of this.storage.late) this.storage.create(name)
    this.start()
    const { process } = this
    invariant(process !== undefined, 'a process runs')
    process.deliverAtOnce()
    process.gate.open()
    for (let turn = 0; turn < 6; turn += 1) {
      process.deliver()
      await this.clock.advance(LONG_MS)
      this.controlVolumes()
    }
    await this.clock.advance(LONG_MS)
  }

  checkConverged({ leaksAllowed }: { readonly leaksAllowed: boolean }): void {
    this.checkAlways()
    for (const { metadata, spec } of this.claims) {
      const name = metadata?.name ?? ''
      invariant(metadata?.deletionTimestamp == null, `the claim ${name} is never gone`)
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
    if (leaksAllowed) return
    const events = [...this.#events, ...(this.process?.events ?? [])]
    const isNamed = (name: string): boolean => events.some((event) => event.includes(`${name} may be orphaned`))
    for (const [handle, name] of this.storage.volumes)
      invariant(owned.has(handle) || isNamed(name), `${handle} of ${name} leaks, and no event names it`)
  }
}

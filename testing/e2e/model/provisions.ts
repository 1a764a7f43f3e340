import { type Finding, findingsIn, type Invariant } from '@csi-sidecars/disturb'
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
  type VolumeSnapshot,
} from '@csi-sidecars/kube-types'
import { type Ref, refused } from '../harness/api/api.ts'
import { claim, storageClass } from '../harness/api/objects.ts'
import type { WireRequest } from '../harness/api/wire.ts'
import type { TestContext } from '../harness/context.ts'
import type { Call } from '../harness/driver/driver.ts'
import { pause } from '../harness/waiting.ts'
import { installCrds } from '../rows/snapshotter/scene.ts'
import type { BackEnd } from './back-end.ts'
import { editFinalizers } from './foreign.ts'
import type { ProvisionMove } from './moves.ts'
import { Rounds } from './rounds.ts'

const GROUP = 'snapshot.storage.k8s.io'
const SOURCE_FINALIZER = 'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection'
/** The time for which the class and the Secret are missing. */
const LOST_FOR_MS = 800
/** A DeleteVolume call may follow the edit of a user within this time, because it was sent before. */
const IN_FLIGHT_MS = 1000
const GENERATION = 'example.com/generation'

const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
/** The in-tree plugin of migrated volumes, and the driver that replaces it. The handle is the same in both forms. */
export const PLUGIN = { name: 'kubernetes.io/portworx-volume', driver: 'pxd.portworx.com' }

/**
 * The use of the provisioner. `node`: one process with `--node-deployment`. `migrated`: a class and volumes of an in-tree
 * plugin.
 */
export type Variant = 'usual' | 'node' | 'migrated'

/** The desired state of the claim with one name. */
interface DesiredClaim {
  isDesired: boolean
  /** The number of recreations of the claim. It distinguishes claims of the same name. */
  generation: number
  restored: boolean
}

interface ProvisionState {
  readonly desiredClaims: readonly Readonly<DesiredClaim>[]
  readonly claims: readonly (PersistentVolumeClaim | undefined)[]
  readonly volumes: readonly PersistentVolume[]
  /** The IDs of the volumes that exist in the driver. */
  readonly created: readonly string[]
  readonly snapshotFinalizers: readonly string[]
  /** The names of volumes for which the driver has got different requests. */
  readonly refused: ReadonlySet<string>
  /** True if a process has ended or was frozen, so that the first request for a volume may be lost. */
  readonly interrupted: boolean
  /** The names of volumes whose creation a process has given up with an event, because it could not repeat the call. */
  readonly givenUp: ReadonlySet<string>
  /** The IDs of volumes whose PersistentVolumes a user has stripped. */
  readonly abandoned: ReadonlySet<string>
  /** Violations of rules that hold during calls. */
  readonly violations: readonly string[]
}

/** Reports whether the claim or volume of this name can get no volume, because the first request is lost. */
function isLost({ refused, interrupted }: ProvisionState, name: string): boolean {
  return interrupted && refused.has(name)
}

const volumeNameOf = (stored: PersistentVolumeClaim | undefined): string => `pvc-${stored?.metadata?.uid}`

const handleOf = ({ spec }: PersistentVolume): string => spec?.csi?.volumeHandle ?? spec?.portworxVolume?.volumeID ?? ''

/** The rules that claims and volumes must satisfy after a period without changes and failures. */
const RULES: Readonly<Record<string, (state: ProvisionState) => readonly string[]>> = {
  'each wanted claim is bound to its volume': (state) => {
    const { desiredClaims, claims, volumes } = state
    return desiredClaims.flatMap(({ isDesired, generation }, index) => {
      const stored = claims[index]
      if (!isDesired)
        return stored === undefined ? [] : [`claim ${index} is still there: ${JSON.stringify(stored.metadata)}`]
      const volume = volumes.find(({ spec }) => spec?.claimRef?.uid === stored?.metadata?.uid)
      const isOwn = stored?.metadata?.annotations?.[GENERATION] === String(generation)
      // The provisioner gives up the creation for a deleted claim, and the wanted claim follows.
      const isDeleted = stored?.metadata?.deletionTimestamp != null
      if (isOwn && !isDeleted && isLost(state, volumeNameOf(stored))) return []
      return isOwn && stored.status?.phase === 'Bound' && volume !== undefined ? [] : [`claim ${index} is not bound`]
    })
  },
  'each PersistentVolume has a claim and a volume': ({ claims, volumes, created }) =>
    volumes.flatMap((volume) => {
      const hasClaim = claims.some(
        (stored) => stored !== undefined && stored.metadata?.uid === volume.spec?.claimRef?.uid,
      )
      const name = `${volume.metadata?.name}, ${volume.status?.phase}`
      if (!created.includes(handleOf(volume))) return [`${name}: the volume ${handleOf(volume)} is deleted`]
      const isRetained = volume.spec?.persistentVolumeReclaimPolicy === 'Retain'
      return hasClaim || isRetained ? [] : [`${name} has no claim`]
    }),
  'no volume leaks': (state) => {
    const named = new Set(state.volumes.map(handleOf))
    const leaked = state.created.filter((id) => !named.has(id) && !state.abandoned.has(id))
    // A process that repeats the call of an earlier process may lack the class or the Secret, which is a known limit.
    const isExcused = (name: string): boolean => isLost(state, name) || (state.interrupted && state.givenUp.has(name))
    return leaked.filter((id) => !isExcused(id.replace(/-\d+$/, ''))).map((id) => `no PersistentVolume names ${id}`)
  },
  'no finalizer is left on claims and snapshots': (state) => {
    const claims = state.claims.filter((stored) => !isLost(state, volumeNameOf(stored)))
    const finalizers = claims.flatMap((stored) => stored?.metadata?.finalizers ?? [])
    const isRestoring = claims.length < state.claims.length
    return [...finalizers, ...(isRestoring ? [] : state.snapshotFinalizers)].filter((name) =>
      /^(external-provisioner|provisioner.storage)/.test(name),
    )
  },
  'a repeated CreateVolume call equals the first': ({ refused, interrupted }) =>
    interrupted ? [] : [...refused].map((name) => `the driver got different requests for ${name}`),
  'no volume that a user keeps is deleted, and a source is protected during the call': ({ violations }) => violations,
}

/** The claims of one test. This class also acts as the Kubernetes controllers that bind claims and release volumes. */
export class Provisions {
  readonly #t: TestContext
  readonly #backEnd: BackEnd
  readonly #desiredClaims: DesiredClaim[]
  readonly #invariants: readonly Invariant<ProvisionState>[]
  readonly #rounds = new Rounds(() => this.#reconcileAll())
  readonly #abandoned = new Set<string>()
  /** The times since when users keep volumes, by the IDs of the volumes. */
  readonly #kept = new Map<string, number>()
  readonly #violations: string[] = []
  readonly #variant: Variant
  #interrupted = false
  #inputVersion = 1
  #inputs: Promise<void> = Promise.resolve()

  /** `leaks` is true if a crash of the provisioner may leave a volume behind. */
  constructor(
    t: TestContext,
    backEnd: BackEnd,
    { claims, leaks, variant }: { claims: number; leaks: boolean; variant: Variant },
  ) {
    this.#t = t
    this.#backEnd = backEnd
    this.#variant = variant
    this.#desiredClaims = Array.from({ length: claims }, () => ({ isDesired: false, generation: 0, restored: false }))
    this.#invariants = Object.entries(RULES)
      .filter(([name]) => !leaks || name !== 'no volume leaks')
      .map(([name, broken]) => ({ name, broken: (state) => broken(state).map((text) => ({ text })) }))
  }

  async start(): Promise<void> {
    await installCrds(this.#t)
    this.#backEnd.snapshots.set('snap', 'snap')
    this.#backEnd.onCreate = (call) => void this.#checkSource(call).catch(() => undefined)
    this.#backEnd.onDelete = (call) => {
      this.#checkDeletion(call)
      void this.#checkBound(call).catch(() => undefined)
    }
    await this.#createInputs()
    await this.#createSnapshot()
    this.#rounds.start()
  }

  async make({ kind, index }: ProvisionMove): Promise<void> {
    const desired = this.#desiredClaims[index]
    if (desired === undefined) throw new Error(`there is no claim ${index}`)
    switch (kind) {
      case 'toggle':
        desired.isDesired = !desired.isDesired
        desired.generation += 1
        return await this.#rounds.now()
      case 'again':
        desired.generation += 1
        return await this.#rounds.now()
      case 'restore':
        Object.assign(desired, { isDesired: true, restored: !desired.restored, generation: desired.generation + 1 })
        return await this.#rounds.now()
      case 'classAgain':
        return await this.#changeInputs(async () => {
          await refused(this.#t.api.delete(STORAGE_CLASSES, { name: this.#t.name('fast') }))
          await refused(this.#t.api.create(STORAGE_CLASSES, this.#class()))
        })
      case 'inputsAgain':
        return await this.#changeInputs(async () => {
          this.#inputVersion += 1
          await this.#deleteInputs()
          await this.#createInputs()
        })
      case 'loseInputs':
        return void this.#changeInputs(async () => {
          await this.#deleteInputs()
          await pause(LOST_FOR_MS)
          await this.#createInputs()
        }).catch(() => undefined)
      case 'policy':
        return await this.#changePolicy(index)
      case 'strip':
        return await this.#stripVolumes()
      case 'unready':
        return await this.#setReady(false)
      case 'ready':
        return await this.#setReady(true)
    }
  }

  /** Makes the snapshot ready and creates the inputs, so that claims can be provisioned. */
  async calm(): Promise<void> {
    await this.#inputs
    await this.#createInputs()
    await this.#setReady(true)
  }

  /** Called when a process ends or is frozen: it may lose the first request for a volume. */
  interrupted(): void {
    this.#interrupted = true
  }

  /**
   * Reports whether the call repeats a creation whose first request is lost. No class has the parameters of that request
   * any longer, so the provisioner repeats the call with its back-off.
   */
  repeatsLostRequest({ method, request }: Call): boolean {
    return method === 'CreateVolume' && this.#interrupted && this.#backEnd.refused.has(String(request['name']))
  }

  /** Runs one change of the class, the Secret and the VolumeAttributesClass after the other. */
  #changeInputs(change: () => Promise<void>): Promise<void> {
    const changed = this.#inputs.then(change)
    this.#inputs = changed.catch(() => undefined)
    return changed
  }

  async #createInputs(): Promise<void> {
    const version = `${this.#inputVersion}`
    const { api } = this.#t
    await refused(
      api.create(SECRETS, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: this.#secret,
        data: { version: btoa(version) },
      }),
    )
    const attributes = { driverName: this.#t.driverName, parameters: { version } }
    const head = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: { name: this.#t.name('attributes') },
    }
    await refused(api.create(VOLUME_ATTRIBUTES_CLASSES, { ...head, ...attributes }))
    await refused(api.create(STORAGE_CLASSES, this.#class()))
  }

  async #deleteInputs(): Promise<void> {
    await refused(this.#t.api.delete(STORAGE_CLASSES, { name: this.#t.name('fast') }))
    await refused(this.#t.api.delete(VOLUME_ATTRIBUTES_CLASSES, { name: this.#t.name('attributes') }))
    await refused(this.#t.api.delete(SECRETS, this.#secret))
  }

  get #secret(): { readonly namespace: string; readonly name: string } {
    return { namespace: this.#t.namespace, name: this.#t.name('creds') }
  }

  /** Changes the reclaim policy of the volume of a claim. */
  async #changePolicy(index: number): Promise<void> {
    const { api } = this.#t
    const stored = await api.find(PERSISTENT_VOLUME_CLAIMS, this.#ref(index))
    const volume = await api.find(PERSISTENT_VOLUMES, { name: volumeNameOf(stored) })
    if (volume === undefined) return
    const id = handleOf(volume)
    const persistentVolumeReclaimPolicy = volume.spec?.persistentVolumeReclaimPolicy === 'Retain' ? 'Delete' : 'Retain'
    if (persistentVolumeReclaimPolicy === 'Delete') this.#kept.delete(id)
    const body = { spec: { persistentVolumeReclaimPolicy } }
    const isRefused = await refused(api.merge(PERSISTENT_VOLUMES, { name: volumeNameOf(stored) }, body))
    if (persistentVolumeReclaimPolicy === 'Retain' && !isRefused) this.#kept.set(id, Date.now())
  }

  /** Retains released volumes and removes their finalizers in one edit, and deletes the objects. */
  async #stripVolumes(): Promise<void> {
    const { api } = this.#t
    for (const volume of await this.#volumes()) {
      const { metadata, status } = volume
      if (status?.phase !== 'Released' || metadata?.deletionTimestamp != null) continue
      const ref = { name: metadata?.name ?? '' }
      const { resourceVersion } = metadata ?? {}
      const spec = { persistentVolumeReclaimPolicy: 'Retain' }
      if (await refused(api.merge(PERSISTENT_VOLUMES, ref, { metadata: { resourceVersion, finalizers: null }, spec })))
        continue
      this.#abandoned.add(handleOf(volume))
      this.#kept.set(handleOf(volume), Date.now())
      await refused(api.delete(PERSISTENT_VOLUMES, ref))
    }
  }

  /** Records a DeleteVolume call for a volume that a user keeps. The call may have begun before the edit. */
  #checkDeletion(call: Call): void {
    const since = this.#kept.get(String(call.request['volume_id']))
    if (since === undefined || this.#interrupted || call.start < since + IN_FLIGHT_MS) return
    this.#violations.push(`DeleteVolume was called for ${String(call.request['volume_id'])}, which a user keeps`)
  }

  /** Records a DeleteVolume call for a bound volume. A volume that is bound after the start of the call was never free. */
  async #checkBound({ request }: Call): Promise<void> {
    const id = String(request['volume_id'])
    const boundVolume = (await this.#volumes()).find((each) => each.status?.phase === 'Bound' && handleOf(each) === id)
    if (boundVolume !== undefined) this.#violations.push(`DeleteVolume was called for ${id}, which is bound`)
  }

  /** Reports whether a request is about an object of another history. Each provisioner sees the snapshots of all. */
  isOfOthers({ resource, name }: Pick<WireRequest, 'resource' | 'name'>): boolean {
    return resource === 'volumesnapshots' && name !== this.#t.name('snap')
  }

  /** Checks that the snapshot has our finalizer while a call restores it. */
  async #checkSource(call: Call): Promise<void> {
    if (call.request['volume_content_source'] === undefined) return
    const ref = { namespace: this.#t.namespace, name: this.#t.name('snap') }
    const snapshot = await this.#t.api.find(VOLUME_SNAPSHOTS, ref)
    const isProtected = snapshot?.metadata?.finalizers?.includes(SOURCE_FINALIZER) === true
    if (isProtected || call.end !== undefined || call.cancelled || !this.#hasRemovedFinalizer()) return
    this.#violations.push(`the snapshot has no finalizer during the call for ${String(call.request['name'])}`)
  }

  /**
   * Reports whether the last write of a process of this history to the snapshot lacks our finalizer. Otherwise the
   * provisioner of another driver has removed the finalizer, which is a known limit.
   */
  #hasRemovedFinalizer(): boolean {
    const gates = new Set(this.#t.sidecars.map(({ gate }) => gate))
    const writes = [...gates]
      .flatMap((gate) => gate.requests)
      .filter(
        ({ method, resource, name }) =>
          method === 'PUT' && resource === 'volumesnapshots' && name === this.#t.name('snap'),
      )
      .toSorted((a, b) => a.time - b.time)
    const { metadata } = (writes.at(-1)?.body ?? {}) as VolumeSnapshot
    return writes.length > 0 && metadata?.finalizers?.includes(SOURCE_FINALIZER) !== true
  }

  wantNothing(): void {
    for (const desired of this.#desiredClaims) desired.isDesired = false
  }

  async differences(): Promise<readonly Finding[]> {
    return findingsIn(this.#invariants, await this.#state())
  }

  async remove(): Promise<void> {
    await this.#rounds.end()
    for (const index of this.#desiredClaims.keys()) await this.#t.strip(PERSISTENT_VOLUME_CLAIMS, this.#ref(index))
    for (const { metadata } of await this.#volumes()) {
      await this.#t.strip(PERSISTENT_VOLUMES, { name: metadata?.name ?? '' })
    }
  }

  async #state(): Promise<ProvisionState> {
    const { api, namespace } = this.#t
    const claims = await Promise.all(
      this.#desiredClaims.keys().map((index) => api.find(PERSISTENT_VOLUME_CLAIMS, this.#ref(index))),
    )
    const snapshot = await api.find(VOLUME_SNAPSHOTS, { namespace, name: this.#t.name('snap') })
    return {
      desiredClaims: this.#desiredClaims,
      claims,
      volumes: await this.#volumes(),
      created: [...this.#backEnd.created.values()],
      snapshotFinalizers: snapshot?.metadata?.finalizers ?? [],
      refused: this.#backEnd.refused,
      interrupted: this.#interrupted,
      givenUp: this.#givenUp(),
      abandoned: this.#abandoned,
      violations: this.#violations,
    }
  }

  #givenUp(): ReadonlySet<string> {
    const lines = this.#t.sidecars.flatMap((sidecar) => sidecar.linesWith('may be orphaned in the back end'))
    return new Set(lines.flatMap((line) => /The volume (\S+) may be orphaned/.exec(line)?.[1] ?? []))
  }

  async #volumes(): Promise<readonly PersistentVolume[]> {
    const all = await this.#t.api.list(PERSISTENT_VOLUMES)
    const ofTest = this.#t.name('')
    return all.filter(({ metadata, spec }) => {
      const isProvisioned = metadata?.name?.startsWith('pvc-') === true
      return isProvisioned && spec?.claimRef?.name?.startsWith(ofTest)
    })
  }

  /** Does the work of the Kubernetes controllers once, for all claims and volumes. */
  async #reconcileAll(): Promise<void> {
    // The volumes come first, so that the claim of each volume is in the list unless it is gone.
    const volumes = await this.#volumes()
    const claims = await this.#t.api.list(PERSISTENT_VOLUME_CLAIMS, this.#t.namespace)
    const named = new Map(claims.map((each) => [each.metadata?.name, each]))
    for (const [index, desired] of this.#desiredClaims.entries()) {
      await this.#follow(index, desired, { stored: named.get(this.#ref(index).name), volumes })
    }
    for (const volume of volumes) await this.#release(volume, claims)
  }

  /** Creates, deletes or binds a claim, as its user wants. */
  async #follow(
    index: number,
    { isDesired, generation, restored }: DesiredClaim,
    { stored, volumes }: Readonly<{ stored: PersistentVolumeClaim | undefined; volumes: readonly PersistentVolume[] }>,
  ): Promise<void> {
    const { api } = this.#t
    const ref = this.#ref(index)
    if (stored === undefined) {
      if (!isDesired) return
      const source = { apiGroup: GROUP, kind: 'VolumeSnapshot', name: this.#t.name('snap') }
      const annotations = { ...this.#ownerAnnotations(index), [GENERATION]: String(generation) }
      // The API server stores a VolumeAttributesClass only for volumes with a CSI source.
      const attributes = this.#variant === 'migrated' ? {} : { volumeAttributesClassName: this.#t.name('attributes') }
      const fields = { metadata: { annotations }, storageClassName: this.#t.name('fast'), ...attributes }
      const made = claim(ref.namespace ?? '', ref.name, { ...fields, ...(restored && { dataSource: source }) })
      await refused(api.create(PERSISTENT_VOLUME_CLAIMS, made))
      return
    }
    const { annotations, deletionTimestamp, uid } = stored.metadata ?? {}
    if (deletionTimestamp != null) return await this.#free(PERSISTENT_VOLUME_CLAIMS, ref)
    if (!isDesired || annotations?.[GENERATION] !== String(generation)) {
      await refused(api.delete(PERSISTENT_VOLUME_CLAIMS, ref))
      return await this.#free(PERSISTENT_VOLUME_CLAIMS, ref)
    }
    const isCreated = volumes.some(({ metadata }) => metadata?.name === `pvc-${uid}`)
    if (!isCreated || stored.status?.phase === 'Bound') return
    await refused(api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { spec: { volumeName: `pvc-${uid}` } }))
    await this.#setPhase(`pvc-${uid}`, 'Bound')
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
    await refused(api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status }))
  }

  /** Returns the annotations that the PV controller and, for the first claim, the scheduler set. */
  #ownerAnnotations(index: number): Readonly<Record<string, string>> {
    const isMigrated = this.#variant === 'migrated'
    return {
      'volume.kubernetes.io/storage-provisioner': this.#provisioner,
      ...(isMigrated && { 'pv.kubernetes.io/migrated-to': PLUGIN.driver }),
      ...(this.#variant === 'node' && index === 0 && { [SELECTED_NODE]: this.#t.name('node') }),
    }
  }

  /** The name of the provisioner in the class. */
  get #provisioner(): string {
    return this.#variant === 'migrated' ? PLUGIN.name : this.#t.driverName
  }

  /** Releases a volume whose claim is gone. */
  async #release(
    { metadata, spec, status }: PersistentVolume,
    claims: readonly PersistentVolumeClaim[],
  ): Promise<void> {
    const name = metadata?.name ?? ''
    if (metadata?.deletionTimestamp != null) return await this.#free(PERSISTENT_VOLUMES, { name })
    if (status?.phase === 'Released') return
    if (!claims.some((stored) => stored.metadata?.uid === spec?.claimRef?.uid)) await this.#setPhase(name, 'Released')
  }

  async #setPhase(name: string, phase: string): Promise<void> {
    await refused(this.#t.api.merge(PERSISTENT_VOLUMES, { name, subresource: 'status' }, { status: { phase } }))
  }

  /** Removes the finalizers of Kubernetes from a deleted object. */
  async #free(resource: Parameters<typeof editFinalizers>[1]['resource'], ref: Ref): Promise<void> {
    const found = await this.#t.api.find(resource, ref)
    if (found?.metadata?.finalizers?.some((name) => name.startsWith('kubernetes.io/')) !== true) return
    await editFinalizers(this.#t, { resource, ...ref }, (all) =>
      all.filter((name) => !name.startsWith('kubernetes.io/')),
    )
  }

  async #setReady(readyToUse: boolean): Promise<void> {
    const ref = { namespace: this.#t.namespace, name: this.#t.name('snap'), subresource: 'status' }
    await this.#t.api.merge(VOLUME_SNAPSHOTS, ref, { status: { readyToUse } })
  }

  async #createSnapshot(): Promise<void> {
    const name = this.#t.name('snap')
    const ref = { namespace: this.#t.namespace, name }
    const made = await this.#t.create(VOLUME_SNAPSHOTS, {
      apiVersion: `${GROUP}/v1`,
      kind: 'VolumeSnapshot',
      metadata: ref,
      spec: { source: { volumeSnapshotContentName: name } },
    })
    await this.#t.create(VOLUME_SNAPSHOT_CONTENTS, {
      apiVersion: `${GROUP}/v1`,
      kind: 'VolumeSnapshotContent',
      metadata: { name },
      spec: {
        driver: this.#t.driverName,
        deletionPolicy: 'Retain',
        source: { snapshotHandle: 'snap' },
        volumeSnapshotRef: { ...ref, uid: made.metadata?.uid },
      },
    })
    const boundStatus = { boundVolumeSnapshotContentName: name, readyToUse: true, restoreSize: '1Gi' }
    await this.#t.api.merge(VOLUME_SNAPSHOTS, { ...ref, subresource: 'status' }, { status: boundStatus })
    const status = { readyToUse: true, snapshotHandle: 'snap' }
    await this.#t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name, subresource: 'status' }, { status })
  }

  #class() {
    const parameters = {
      version: `${this.#inputVersion}`,
      'csi.storage.k8s.io/provisioner-secret-name': this.#secret.name,
      'csi.storage.k8s.io/provisioner-secret-namespace': this.#secret.namespace,
    }
    return { ...storageClass(this.#t.name('fast'), this.#provisioner), reclaimPolicy: 'Delete', parameters }
  }

  #ref(index: number): Ref {
    return { namespace: this.#t.namespace, name: this.#t.name(`new-${index}`) }
  }
}

import { type Finding, findingsIn, type Invariant } from '@csi-sidecars/disturb'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { type Ref, refused } from '../harness/api/api.ts'
import { claim, storageClass } from '../harness/api/objects.ts'
import type { TestContext } from '../harness/context.ts'
import { installCrds } from '../tests/snapshotter/scene.ts'
import type { BackEnd } from './back-end.ts'
import { editFinalizers } from './foreign.ts'
import type { ProvisionMove } from './moves.ts'
import { Rounds } from './rounds.ts'

const GROUP = 'snapshot.storage.k8s.io'
const GENERATION = 'example.com/generation'

/** The desired state of the claim with one name. */
interface DesiredClaim {
  wanted: boolean
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
}

const handleOf = ({ spec }: PersistentVolume): string => spec?.csi?.volumeHandle ?? ''

/** The rules that claims and volumes must satisfy after a period without changes and failures. */
const RULES: Readonly<Record<string, (state: ProvisionState) => readonly string[]>> = {
  'each wanted claim is bound to its volume': ({ desiredClaims, claims, volumes }) =>
    desiredClaims.flatMap(({ wanted, generation }, index) => {
      const held = claims[index]
      if (!wanted) return held === undefined ? [] : [`claim ${index} is still there: ${JSON.stringify(held.metadata)}`]
      const volume = volumes.find(({ spec }) => spec?.claimRef?.uid === held?.metadata?.uid)
      const isOwn = held?.metadata?.annotations?.[GENERATION] === String(generation)
      return isOwn && held.status?.phase === 'Bound' && volume !== undefined ? [] : [`claim ${index} is not bound`]
    }),
  'each PersistentVolume has a claim and a volume': ({ claims, volumes, created }) =>
    volumes.flatMap((volume) => {
      const hasClaim = claims.some((held) => held !== undefined && held.metadata?.uid === volume.spec?.claimRef?.uid)
      const name = volume.metadata?.name
      if (!created.includes(handleOf(volume))) return [`${name}: the volume ${handleOf(volume)} is deleted`]
      return hasClaim ? [] : [`${name} has no claim`]
    }),
  'no volume leaks': ({ volumes, created }) => {
    const named = new Set(volumes.map(handleOf))
    return created.filter((id) => !named.has(id)).map((id) => `no PersistentVolume names ${id}`)
  },
  'no finalizer is left on claims and snapshots': ({ claims, snapshotFinalizers }) =>
    [...claims.flatMap((held) => held?.metadata?.finalizers ?? []), ...snapshotFinalizers].filter((name) =>
      /^(external-provisioner|provisioner.storage)/.test(name),
    ),
}

/** The claims of one test. This class also acts as the Kubernetes controllers that bind claims and release volumes. */
export class Provisions {
  readonly #t: TestContext
  readonly #backEnd: BackEnd
  readonly #desiredClaims: DesiredClaim[]
  readonly #invariants: readonly Invariant<ProvisionState>[]
  readonly #rounds = new Rounds(() => this.#look())

  /** `leaks` is true if a crash of the provisioner may leave a volume behind. */
  constructor(t: TestContext, backEnd: BackEnd, { claims, leaks }: { claims: number; leaks: boolean }) {
    this.#t = t
    this.#backEnd = backEnd
    this.#desiredClaims = Array.from({ length: claims }, () => ({ wanted: false, generation: 0, restored: false }))
    this.#invariants = Object.entries(RULES)
      .filter(([name]) => !leaks || name !== 'no volume leaks')
      .map(([name, broken]) => ({ name, broken: (state) => broken(state).map((text) => ({ about: '', text })) }))
  }

  async start(): Promise<void> {
    await installCrds(this.#t)
    this.#backEnd.snapshots.set('snap', 'snap')
    await this.#t.create(STORAGE_CLASSES, this.#class())
    await this.#createSnapshot()
    this.#rounds.start()
  }

  async make({ do: what, index }: ProvisionMove): Promise<void> {
    const desired = this.#desiredClaims[index]
    if (desired === undefined) throw new Error(`there is no claim ${index}`)
    switch (what) {
      case 'toggle':
        desired.wanted = !desired.wanted
        desired.generation += 1
        return await this.#rounds.now()
      case 'again':
        desired.generation += 1
        return await this.#rounds.now()
      case 'restore':
        Object.assign(desired, { wanted: true, restored: !desired.restored, generation: desired.generation + 1 })
        return await this.#rounds.now()
      case 'classAgain':
        await refused(this.#t.api.delete(STORAGE_CLASSES, { name: this.#t.name('fast') }))
        return void (await this.#t.api.create(STORAGE_CLASSES, this.#class()))
      case 'unready':
        return await this.#setReady(false)
      case 'ready':
        return await this.#setReady(true)
    }
  }

  /** Makes the snapshot ready, so that restores can succeed. */
  async calm(): Promise<void> {
    await this.#setReady(true)
  }

  wantNothing(): void {
    for (const desired of this.#desiredClaims) desired.wanted = false
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
    }
  }

  async #volumes(): Promise<readonly PersistentVolume[]> {
    const all = await this.#t.api.list(PERSISTENT_VOLUMES)
    return all.filter(({ metadata, spec }) => {
      const isProvisioned = metadata?.name?.startsWith('pvc-') === true
      return isProvisioned && spec?.csi?.driver === this.#t.driverName
    })
  }

  /** Does the work of the Kubernetes controllers once, for all claims and volumes. */
  async #look(): Promise<void> {
    for (const [index, desired] of this.#desiredClaims.entries()) await this.#follow(index, desired)
    for (const volume of await this.#volumes()) await this.#release(volume)
  }

  /** Creates, deletes or binds a claim, as its user wants. */
  async #follow(index: number, { wanted, generation, restored }: DesiredClaim): Promise<void> {
    const { api } = this.#t
    const ref = this.#ref(index)
    const held = await api.find(PERSISTENT_VOLUME_CLAIMS, ref)
    if (held === undefined) {
      if (!wanted) return
      const source = { apiGroup: GROUP, kind: 'VolumeSnapshot', name: this.#t.name('snap') }
      const annotations = {
        'volume.kubernetes.io/storage-provisioner': this.#t.driverName,
        [GENERATION]: String(generation),
      }
      const parts = { metadata: { annotations }, storageClassName: this.#t.name('fast') }
      const made = claim(ref.namespace ?? '', ref.name, { ...parts, ...(restored && { dataSource: source }) })
      await refused(api.create(PERSISTENT_VOLUME_CLAIMS, made))
      return
    }
    const { annotations, deletionTimestamp, uid } = held.metadata ?? {}
    if (deletionTimestamp != null) return await this.#free(PERSISTENT_VOLUME_CLAIMS, ref)
    if (!wanted || annotations?.[GENERATION] !== String(generation)) {
      await refused(api.delete(PERSISTENT_VOLUME_CLAIMS, ref))
      return await this.#free(PERSISTENT_VOLUME_CLAIMS, ref)
    }
    const volume = await api.find(PERSISTENT_VOLUMES, { name: `pvc-${uid}` })
    if (volume === undefined || held.status?.phase === 'Bound') return
    await refused(api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { spec: { volumeName: `pvc-${uid}` } }))
    await this.#setPhase(`pvc-${uid}`, 'Bound')
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
    await refused(api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status }))
  }

  /** Releases a volume whose claim is gone. */
  async #release({ metadata, spec, status }: PersistentVolume): Promise<void> {
    const name = metadata?.name ?? ''
    if (metadata?.deletionTimestamp != null) return await this.#free(PERSISTENT_VOLUMES, { name })
    if (status?.phase === 'Released') return
    const { namespace, name: claimName = '', uid } = spec?.claimRef ?? {}
    const held = await this.#t.api.find(PERSISTENT_VOLUME_CLAIMS, { namespace, name: claimName })
    if (held?.metadata?.uid !== uid) await this.#setPhase(name, 'Released')
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
    const bound = { boundVolumeSnapshotContentName: name, readyToUse: true, restoreSize: '1Gi' }
    await this.#t.api.merge(VOLUME_SNAPSHOTS, { ...ref, subresource: 'status' }, { status: bound })
    const status = { readyToUse: true, snapshotHandle: 'snap' }
    await this.#t.api.merge(VOLUME_SNAPSHOT_CONTENTS, { name, subresource: 'status' }, { status })
  }

  #class() {
    return { ...storageClass(this.#t.name('fast'), this.#t.driverName), reclaimPolicy: 'Delete' }
  }

  #ref(index: number): Ref {
    return { namespace: this.#t.namespace, name: this.#t.name(`new-${index}`) }
  }
}

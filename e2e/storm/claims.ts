import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  Quantity,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import type { Ref } from '../harness/api.ts'
import { attributesClass, claim, storageClass, volume } from '../harness/objects.ts'
import type { World } from '../harness/world.ts'
import { type BackEnd, FIRST_TIER } from './back-end.ts'
import type { Finding } from './overlaps.ts'
import type { ClaimMove } from './plan.ts'
import { inParallel, refused, stripped } from './requests.ts'

const TIERS = [FIRST_TIER, 'silver', 'gold']
/** A condition that is somebody else's. */
const FOREIGN = 'Unused'

/** What somebody wants of one claim. */
interface Wish {
  /** Its volume has another handle each time. */
  generation: number
  gibibytes: number
  tier: string
  flagged: boolean
}

/** Claims and their volumes, and what somebody wants of them. */
export class Claims {
  readonly #t: World
  readonly #wishes: Wish[]

  constructor(t: World, objects: number) {
    this.#t = t
    this.#wishes = Array.from({ length: objects }, () => ({
      generation: 0,
      gibibytes: 1,
      tier: FIRST_TIER,
      flagged: false,
    }))
  }

  async start(): Promise<void> {
    const { driverName } = this.#t
    await this.#t.create(STORAGE_CLASSES, storageClass(this.#t.name('class'), driverName))
    for (const tier of TIERS) {
      await this.#t.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(this.#className(tier), driverName, { tier }))
    }
    await inParallel(this.#wishes.length, (index) => this.#create(index))
  }

  async make({ do: what, index, amount }: ClaimMove): Promise<void> {
    const wish = this.#wishOf(index)
    switch (what) {
      case 'grow':
        return await this.#ask(index, wish.gibibytes + amount)
      case 'lower':
        return await this.#ask(index, Math.max(2, wish.gibibytes - amount))
      case 'modify':
        return await this.#want(index, TIERS[(TIERS.indexOf(wish.tier) + amount) % TIERS.length] ?? FIRST_TIER)
      case 'flag':
        return await this.#flag(index)
      case 'again':
        await this.#remove(index)
        Object.assign(wish, { generation: wish.generation + 1, gibibytes: 1, tier: FIRST_TIER, flagged: false })
        return await this.#create(index)
    }
  }

  /** Where the API and the driver do not agree, or something is under way. */
  async differences(backEnd: BackEnd): Promise<readonly Finding[]> {
    const claims = new Map((await this.#t.api.list(PERSISTENT_VOLUME_CLAIMS, this.#t.namespace)).map(named))
    const volumes = new Map((await this.#t.api.list(PERSISTENT_VOLUMES)).map(named))
    return this.#wishes.flatMap((wish, index) => {
      const held = claims.get(this.#ref(index).name)
      const disk = volumes.get(this.#volumeName(index))
      const handle = this.#handle(index)
      const said = this.#troubles(wish, { held, disk, bytes: backEnd.sizeOf(handle), tier: backEnd.tierOf(handle) })
      if (said.length === 0) return []
      const objects = JSON.stringify([held, disk])
      return [
        { handle, text: `${this.#ref(index).name}: ${said.join(', ')}; wanted ${JSON.stringify(wish)}: ${objects}` },
      ]
    })
  }

  async deleteAll(): Promise<void> {
    await inParallel(this.#wishes.length, (index) => this.#remove(index))
  }

  #troubles(
    wish: Wish,
    seen: {
      held?: PersistentVolumeClaim | undefined
      disk?: PersistentVolume | undefined
      bytes: number
      tier: string
    },
  ): readonly string[] {
    const { status, spec } = seen.held ?? {}
    const capacity = bytesOf(status?.capacity?.['storage'])
    const types = (status?.conditions ?? []).map(({ type }) => type)
    const checks: Readonly<Record<string, boolean>> = {
      'the request is another': bytesOf(spec?.resources?.requests?.['storage']) !== wish.gibibytes * 1024 ** 3,
      'the claim is too small': capacity < wish.gibibytes * 1024 ** 3,
      'the driver has another size than the claim': capacity !== seen.bytes,
      'the driver has another size than the volume': bytesOf(seen.disk?.spec?.capacity?.['storage']) !== seen.bytes,
      'the driver has another class': seen.tier !== wish.tier,
      'the claim has another class': status?.currentVolumeAttributesClassName !== this.#className(wish.tier),
      'the volume has another class': seen.disk?.spec?.volumeAttributesClassName !== this.#className(wish.tier),
      'a modification is under way': status?.modifyVolumeStatus !== undefined,
      'an expansion is under way': status?.allocatedResourceStatuses?.['storage'] !== undefined,
      'a condition is left': types.some((type) => type !== FOREIGN),
      'a foreign condition is lost': types.includes(FOREIGN) !== wish.flagged,
    }
    return Object.entries(checks).flatMap(([text, wrong]) => (wrong ? [text] : []))
  }

  async #ask(index: number, gibibytes: number): Promise<void> {
    const body = { spec: { resources: { requests: { storage: `${gibibytes}Gi` } } } }
    const request = this.#t.api.merge(PERSISTENT_VOLUME_CLAIMS, this.#ref(index), body)
    if (!(await refused(request))) this.#wishOf(index).gibibytes = gibibytes
  }

  async #want(index: number, tier: string): Promise<void> {
    const body = { spec: { volumeAttributesClassName: this.#className(tier) } }
    const request = this.#t.api.merge(PERSISTENT_VOLUME_CLAIMS, this.#ref(index), body)
    if (!(await refused(request))) this.#wishOf(index).tier = tier
  }

  /** As kube-controller-manager does with its own condition. */
  async #flag(index: number): Promise<void> {
    const conditions = [{ type: FOREIGN, status: 'True', lastTransitionTime: null, lastProbeTime: null }]
    const ref = { ...this.#ref(index), subresource: 'status' }
    await this.#t.api.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'strategic', body: { status: { conditions } } })
    this.#wishOf(index).flagged = true
  }

  /** A claim bound to a volume, as the volume controller leaves them. */
  async #create(index: number): Promise<void> {
    const { api, namespace, driverName } = this.#t
    const { name } = this.#ref(index)
    const both = { storageClassName: this.#t.name('class'), volumeAttributesClassName: this.#className(FIRST_TIER) }
    const held = claim(namespace, name, { ...both, volumeName: this.#volumeName(index) })
    const { metadata } = await api.create(PERSISTENT_VOLUME_CLAIMS, held)
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid: metadata?.uid }
    const csi = { volumeHandle: this.#handle(index) }
    await api.create(PERSISTENT_VOLUMES, volume(this.#volumeName(index), driverName, { ...both, claimRef, csi }))
    const status = {
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      currentVolumeAttributesClassName: this.#className(FIRST_TIER),
    }
    await api.merge(PERSISTENT_VOLUME_CLAIMS, { ...this.#ref(index), subresource: 'status' }, { status })
  }

  async #remove(index: number): Promise<void> {
    await stripped(this.#t, PERSISTENT_VOLUME_CLAIMS, this.#ref(index))
    await stripped(this.#t, PERSISTENT_VOLUMES, { name: this.#volumeName(index) })
  }

  #wishOf(index: number): Wish {
    const wish = this.#wishes[index]
    if (wish === undefined) throw new Error(`there is no claim ${index}`)
    return wish
  }

  #ref(index: number): Ref {
    return { namespace: this.#t.namespace, name: this.#t.name(`claim-${index}`) }
  }

  #volumeName(index: number): string {
    return this.#t.name(`pv-${index}`)
  }

  #handle(index: number): string {
    return `${this.#volumeName(index)}-${this.#wishOf(index).generation}`
  }

  #className(tier: string): string {
    return this.#t.name(tier)
  }
}

function named<T extends { metadata?: { name?: string | undefined } | undefined }>(object: T): [string, T] {
  return [object.metadata?.name ?? '', object]
}

function bytesOf(size: string | undefined): number {
  return size === undefined ? 0 : Number(Quantity.parse(size).bytes())
}

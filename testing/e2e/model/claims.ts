import { inParallel } from '@csi-sidecars/base'
import { type Finding, findingsIn, type Invariant } from '@csi-sidecars/disturb'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  Quantity,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import type { Ref } from '../harness/api/api.ts'
import { refused } from '../harness/api/api.ts'
import { attributesClass, claim, storageClass, volume } from '../harness/api/objects.ts'
import type { TestContext } from '../harness/context.ts'
import { type BackEnd, FIRST_TIER } from './back-end.ts'
import { Foreign } from './foreign.ts'
import type { ClaimMove } from './moves.ts'

const TIERS = [FIRST_TIER, 'silver', 'gold']
/** The type of a condition that another writer sets on claims. */
const FOREIGN = 'Unused'
const GIBIBYTE = 1024 ** 3
const AT_A_TIME = 8

/** The state that a user wants for one claim. */
interface Request {
  /** The number of recreations of the claim. Each recreated volume has a new handle. */
  generation: number
  gibibytes: number
  tier: string
  flagged: boolean
  /** The size in bytes that a person has written into the PersistentVolume. An expansion replaces it. */
  paper: number | undefined
}

/** The actual state of one claim in the API server and in the driver, and the state that its user wants. */
export interface ClaimState {
  readonly name: string
  readonly handle: string
  readonly request: Readonly<Request>
  readonly claim: PersistentVolumeClaim | undefined
  readonly volume: PersistentVolume | undefined
  readonly className: string
  /** The size of the volume in the driver, in bytes. */
  readonly bytes: number
  readonly tier: string
  readonly foreign: Foreign
}

type Rule = readonly [name: string, wrong: (state: ClaimState) => boolean | readonly string[]]

const RULES: readonly Rule[] = [
  ['the claim asks for what its user wants', ({ claim, request }) => requestOf(claim) !== request.gibibytes * GIBIBYTE],
  ['the claim is as large as its request', ({ claim, request }) => capacityOf(claim) < request.gibibytes * GIBIBYTE],
  ['the driver and the claim have one size', ({ claim, bytes }) => capacityOf(claim) !== bytes],
  [
    'the driver and the volume have one size',
    ({ volume: disk, bytes, request }) => ![bytes, request.paper].includes(bytesOf(disk?.spec?.capacity?.['storage'])),
  ],
  ['the driver has the class', ({ tier, request }) => tier !== request.tier],
  ['the claim has the class', ({ claim, className }) => claim?.status?.currentVolumeAttributesClassName !== className],
  ['the volume has the class', ({ volume: disk, className }) => disk?.spec?.volumeAttributesClassName !== className],
  ['no modification is left', ({ claim }) => claim?.status?.modifyVolumeStatus !== undefined],
  ['no expansion is left', ({ claim }) => claim?.status?.allocatedResourceStatuses?.['storage'] !== undefined],
  ['no condition is left', ({ claim }) => conditionsOf(claim).some((type) => type !== FOREIGN)],
  ['a foreign condition stays', ({ claim, request }) => conditionsOf(claim).includes(FOREIGN) !== request.flagged],
  [
    'what others wrote stays',
    ({ claim, volume: disk, foreign }) =>
      [claim, disk].flatMap((each) => (each === undefined ? [] : foreign.troubles(each))),
  ],
]

/** The rules that claims must satisfy after a period without changes and failures. */
const INVARIANTS: readonly Invariant<readonly ClaimState[]>[] = RULES.map(([name, wrong]) => ({
  name,
  broken: (states) =>
    states.flatMap((state) => {
      const answer = wrong(state)
      if (answer === false || (answer !== true && answer.length === 0)) return []
      const objects = JSON.stringify([state.claim, state.volume, { bytes: state.bytes, tier: state.tier }])
      const why = answer === true ? '' : `${answer.join(', ')}; `
      return [
        { subject: state.handle, text: `${state.name}: ${why}wanted ${JSON.stringify(state.request)}: ${objects}` },
      ]
    }),
}))

/** The claims and volumes of one test, with the state that their users want. */
export class Claims {
  readonly #t: TestContext
  readonly #backEnd: BackEnd
  readonly #foreign: Foreign
  readonly #requests: Request[]

  constructor(t: TestContext, backEnd: BackEnd, objects: number) {
    this.#t = t
    this.#backEnd = backEnd
    this.#foreign = new Foreign(t)
    this.#requests = Array.from({ length: objects }, () => ({ generation: 0, ...asCreated() }))
  }

  async start(): Promise<void> {
    const { driverName } = this.#t
    await this.#t.create(STORAGE_CLASSES, storageClass(this.#t.name('class'), driverName))
    for (const tier of TIERS) {
      await this.#t.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(this.#className(tier), driverName, { tier }))
    }
    await inParallel(AT_A_TIME, this.#requests.keys(), (index) => this.#create(index))
  }

  async make({ kind, index, amount }: ClaimMove): Promise<void> {
    const request = this.#requestOf(index)
    switch (kind) {
      case 'grow':
        return await this.#ask(index, request.gibibytes + amount)
      case 'lower':
        return await this.#ask(index, Math.max(2, request.gibibytes - amount))
      case 'modify':
        return await this.#want(index, TIERS[(TIERS.indexOf(request.tier) + amount) % TIERS.length] ?? FIRST_TIER)
      case 'flag':
        return await this.#flag(index)
      case 'again':
        await this.#remove(index)
        Object.assign(request, { generation: request.generation + 1, ...asCreated() })
        return await this.#create(index)
      case 'paper':
        return await this.#writePaper(index, request.gibibytes + amount)
      case 'clear':
        return await this.#clear(index)
      case 'foreign':
        return await this.#foreign.toggleFinalizer(PERSISTENT_VOLUME_CLAIMS, this.#ref(index))
      case 'foreignOnVolume':
        return await this.#foreign.toggleFinalizer(PERSISTENT_VOLUMES, { name: this.#volumeName(index) })
      case 'note':
        return await this.#foreign.annotate(PERSISTENT_VOLUME_CLAIMS, this.#ref(index))
    }
  }

  async state(): Promise<readonly ClaimState[]> {
    const claims = new Map((await this.#t.api.list(PERSISTENT_VOLUME_CLAIMS, this.#t.namespace)).map(named))
    const volumes = new Map((await this.#t.api.list(PERSISTENT_VOLUMES)).map(named))
    return this.#requests.map((request, index) => {
      const { name } = this.#ref(index)
      const handle = this.#handle(index)
      const found = { claim: claims.get(name), volume: volumes.get(this.#volumeName(index)) }
      const driver = { bytes: this.#backEnd.sizeOf(handle), tier: this.#backEnd.tierOf(handle) }
      return {
        name,
        handle,
        request,
        className: this.#className(request.tier),
        foreign: this.#foreign,
        ...found,
        ...driver,
      }
    })
  }

  /** Returns a finding for each rule that the objects or the driver violate. */
  async differences(): Promise<readonly Finding[]> {
    return findingsIn(INVARIANTS, await this.state())
  }

  /** Removes all claims and volumes from the API server, also after a failure. */
  async remove(): Promise<void> {
    await inParallel(AT_A_TIME, this.#requests.keys(), (index) => this.#remove(index))
  }

  async #ask(index: number, gibibytes: number): Promise<void> {
    const body = { spec: { resources: { requests: { storage: `${gibibytes}Gi` } } } }
    const request = this.#t.api.merge(PERSISTENT_VOLUME_CLAIMS, this.#ref(index), body)
    if (!(await refused(request))) this.#requestOf(index).gibibytes = gibibytes
  }

  async #want(index: number, tier: string): Promise<void> {
    const body = { spec: { volumeAttributesClassName: this.#className(tier) } }
    const request = this.#t.api.merge(PERSISTENT_VOLUME_CLAIMS, this.#ref(index), body)
    if (!(await refused(request))) this.#requestOf(index).tier = tier
  }

  async #writePaper(index: number, gibibytes: number): Promise<void> {
    const body = { spec: { capacity: { storage: `${gibibytes}Gi` } } }
    if (await refused(this.#t.api.merge(PERSISTENT_VOLUMES, { name: this.#volumeName(index) }, body))) return
    this.#requestOf(index).paper = gibibytes * GIBIBYTE
  }

  /** Sets a condition on the claim, as kube-controller-manager does. */
  async #flag(index: number): Promise<void> {
    const conditions = [{ type: FOREIGN, status: 'True', lastTransitionTime: null, lastProbeTime: null }]
    const ref = { ...this.#ref(index), subresource: 'status' }
    await this.#t.api.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'strategic', body: { status: { conditions } } })
    this.#requestOf(index).flagged = true
  }

  async #clear(index: number): Promise<void> {
    const status = { allocatedResources: null, allocatedResourceStatuses: null }
    const ref = { ...this.#ref(index), subresource: 'status' }
    await refused(this.#t.api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { status }))
  }

  /** Creates a claim and a volume that are already bound, as the PersistentVolume controller leaves them. */
  async #create(index: number): Promise<void> {
    const { api, namespace, driverName } = this.#t
    const { name } = this.#ref(index)
    const both = { storageClassName: this.#t.name('class'), volumeAttributesClassName: this.#className(FIRST_TIER) }
    const boundClaim = claim(namespace, name, { ...both, volumeName: this.#volumeName(index) })
    const { metadata } = await api.create(PERSISTENT_VOLUME_CLAIMS, boundClaim)
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
    await this.#t.strip(PERSISTENT_VOLUME_CLAIMS, this.#ref(index))
    await this.#t.strip(PERSISTENT_VOLUMES, { name: this.#volumeName(index) })
  }

  #requestOf(index: number): Request {
    const request = this.#requests[index]
    if (request === undefined) throw new Error(`there is no claim ${index}`)
    return request
  }

  #ref(index: number): Ref {
    return { namespace: this.#t.namespace, name: this.#t.name(`claim-${index}`) }
  }

  #volumeName(index: number): string {
    return this.#t.name(`pv-${index}`)
  }

  #handle(index: number): string {
    return `${this.#volumeName(index)}-${this.#requestOf(index).generation}`
  }

  #className(tier: string): string {
    return this.#t.name(tier)
  }
}

function asCreated(): Omit<Request, 'generation'> {
  return { gibibytes: 1, tier: FIRST_TIER, flagged: false, paper: undefined }
}

function named<T extends { metadata?: { name?: string | undefined } | undefined }>(object: T): [string, T] {
  return [object.metadata?.name ?? '', object]
}

function requestOf(stored: PersistentVolumeClaim | undefined): number {
  return bytesOf(stored?.spec?.resources?.requests?.['storage'])
}

function capacityOf(stored: PersistentVolumeClaim | undefined): number {
  return bytesOf(stored?.status?.capacity?.['storage'])
}

function conditionsOf(stored: PersistentVolumeClaim | undefined): readonly string[] {
  return (stored?.status?.conditions ?? []).map(({ type }) => type)
}

function bytesOf(size: string | undefined): number {
  return size === undefined ? 0 : Number(Quantity.parse(size).bytes())
}

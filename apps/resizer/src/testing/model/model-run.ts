import {
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { HANG } from '@csi-sidecars/testkit'
import { attributesClass, CLAIM_REF, claim, NAMESPACE, pod, VOLUME_REF, volume } from '../builders.ts'
import { ResizerFixture } from '../fixture.ts'
import { Backend, type Behaviour, giOf } from './backend.ts'

/** The actions of users and nodes, and the faults. */
export type Action =
  | { readonly kind: 'request'; readonly gi: number }
  | { readonly kind: 'want'; readonly name: string | null }
  | { readonly kind: 'requestInCall'; readonly gi: number }
  | { readonly kind: 'wantInCall'; readonly name: string }
  | { readonly kind: 'expandsLike'; readonly behaviour: Behaviour }
  | { readonly kind: 'modifiesLike'; readonly behaviour: Behaviour }
  | { readonly kind: 'node'; readonly succeeds: boolean }
  | { readonly kind: 'crashAtWrite'; readonly writes: number; readonly applied: boolean }
  | { readonly kind: 'restart' | 'label' | 'createClass' | 'podBegins' | 'podEnds' | 'driverReturns' }
  | { readonly kind: 'replace'; readonly object: Replaced; readonly when: 'now' | 'inExpand' | 'inModify' }
  | { readonly kind: 'lag'; readonly on: boolean }
  | { readonly kind: 'pass'; readonly seconds: number }

export type Replaced = 'claim' | 'volume' | 'driver'

/** Performs the actions of users, of other writers and of the kubelet around one resizer. */
export class ModelRun {
  readonly fixture = new ResizerFixture()
  readonly backend = new Backend(this.fixture)
  #lagging = false
  #crashed = false
  #writesLeft: number | undefined
  /** The class in the PersistentVolume after the last write to it. */
  #saidClass: string | undefined
  /** The number of objects that were recreated under the same name. */
  #replaced = 0
  #claimReplaced = false

  async begin(): Promise<void> {
    const { cluster } = this.fixture
    for (const name of ['gold', 'silver']) cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass(name))
    cluster.store(PERSISTENT_VOLUMES, volume())
    cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
    for (const resource of [PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS]) {
      cluster.server.onChange<KubeObject>(resource, ({ type, object }) => {
        if (type === 'MODIFIED') this.#check(object)
      })
    }
    await this.#start()
  }

  async #start(): Promise<void> {
    this.backend.processBegins()
    await this.fixture.start()
    this.#follow(this.#lagging)
  }

  #follow(lagging: boolean): void {
    this.#lagging = lagging
    for (const cache of [this.fixture.caches.claims, this.fixture.caches.volumes]) {
      cache.lagging = lagging
      if (!lagging) cache.deliver()
    }
  }

  /** Lets work settle. If the process has crashed at a write, starts the next process. */
  async settle(): Promise<void> {
    await this.fixture.clock.settle()
    if (!this.#crashed) return
    this.#crashed = false
    this.fixture.cluster.before = () => undefined
    this.fixture.cluster.after = () => undefined
    await this.restart()
  }

  async restart(): Promise<void> {
    await this.fixture.kill()
    await this.#start()
  }

  /** Checks that the object shows no larger size and no other class than the volume in the back end. */
  #check(object: KubeObject): void {
    const { kind, spec, status } = object as PersistentVolume & PersistentVolumeClaim
    const { backend } = this
    const { size, className } = backend
    const storage = kind === 'PersistentVolume' ? spec?.capacity?.['storage'] : status?.capacity?.['storage']
    if (giOf(storage) > size) backend.violations.push(`${kind} says ${storage} where there are ${size}`)
    if (kind !== 'PersistentVolume') return
    const shownClass = spec?.volumeAttributesClassName
    if (shownClass !== this.#saidClass && shownClass !== className) {
      backend.violations.push(`${kind} says ${shownClass} where the class is ${className}`)
    }
    this.#saidClass = shownClass
  }

  /** Deletes the claim and recreates it under its name, with the existing volume. */
  #replaceClaim(): void {
    const { cluster } = this.fixture
    const { spec } = this.#volume
    this.#replaced += 1
    this.#claimReplaced = true
    const uid = `uid-${this.#replaced}`
    const capacity = spec?.capacity?.['storage'] ?? ''
    const wantedClass = spec?.volumeAttributesClassName ?? undefined
    const status = wantedClass === undefined ? {} : { currentVolumeAttributesClassName: wantedClass }
    this.backend.forget()
    cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
    cluster.edit(PERSISTENT_VOLUMES, VOLUME_REF, { spec: { claimRef: { uid } } })
    cluster.store(
      PERSISTENT_VOLUME_CLAIMS,
      claim({ uid, request: capacity, capacity, status, ...(wantedClass !== undefined && { wantedClass }) }),
    )
  }

  /** Deletes the PersistentVolume and recreates it for a new volume, with the size and class in the claim's status. */
  #replaceVolume(): void {
    const { cluster, claim: owner } = this.fixture
    const { capacity, currentVolumeAttributesClassName: className } = owner.status ?? {}
    this.#replaced += 1
    const handle = this.backend.newVolume({ size: giOf(capacity?.['storage']), className })
    const spec = className === undefined ? {} : { volumeAttributesClassName: className }
    const made = volume({
      ownUid: `uid-pv-${this.#replaced}`,
      uid: owner.metadata?.uid ?? '',
      handle,
      capacity: capacity?.['storage'] ?? '',
    })
    this.#saidClass = className
    cluster.delete(PERSISTENT_VOLUMES, VOLUME_REF)
    cluster.store(PERSISTENT_VOLUMES, { ...made, spec: { ...made.spec, ...spec } })
  }

  replace(object: Replaced): void {
    if (object === 'claim') this.#replaceClaim()
    else if (object === 'volume') this.#replaceVolume()
    else {
      this.fixture.driver.lose()
      this.fixture.driver.return()
    }
  }

  /**
   * Replaces an object during a call. Never replaces the volume between the two writes of a result, because the resizer
   * cannot notice that.
   */
  #replaceInCall(object: Replaced): void {
    const { status } = this.fixture.claim
    const { spec } = this.#volume
    const saved =
      spec?.capacity?.['storage'] === status?.capacity?.['storage'] &&
      spec?.volumeAttributesClassName === status?.currentVolumeAttributesClassName
    if (object !== 'volume' || saved) this.replace(object)
  }

  get #volume(): PersistentVolume {
    return this.fixture.cluster.server.list(PERSISTENT_VOLUMES)[0] as PersistentVolume
  }

  #editClaim(change: object): void {
    this.fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, change)
  }

  /** Changes the requested size. The API server does not allow a decrease to the claim's capacity or less. */
  request(gi: number): void {
    const { spec, status } = this.fixture.claim
    const now = giOf(spec?.resources?.requests?.['storage'])
    if (gi < now && gi <= giOf(status?.capacity?.['storage'])) return
    this.backend.largestRequest = Math.max(this.backend.largestRequest, gi)
    this.#editClaim({ spec: { resources: { requests: { storage: `${gi}Gi` } } } })
  }

  /** Requests a class. A request can be withdrawn only while the volume has no class yet. */
  want(name: string | null): void {
    if (name === null && this.fixture.claim.status?.currentVolumeAttributesClassName !== undefined) return
    this.#editClaim({ spec: { volumeAttributesClassName: name } })
  }

  /** Acts as the kubelet, if the status of the claim is `NodeResizePending`. */
  node(succeeds: boolean): void {
    const { status } = this.fixture.claim
    if (status?.allocatedResourceStatuses?.['storage'] !== 'NodeResizePending') return
    const capacity = this.fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity
    const ofResize = new Set(['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'])
    const conditions = (status.conditions ?? []).filter(({ type }) => !ofResize.has(type))
    const failed = { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }
    const done = { capacity, allocatedResourceStatuses: null, conditions: conditions.length > 0 ? conditions : null }
    this.#editClaim({ status: succeeds ? done : failed })
  }

  crashAtWrite(writes: number, applied: boolean): void {
    this.#writesLeft = writes
    const fault = ({ verb }: { verb: string }): unknown => {
      if (this.#crashed) return HANG
      if (verb !== 'patch' || this.#writesLeft === undefined) return undefined
      if (this.#writesLeft > 0) {
        this.#writesLeft -= 1
        return undefined
      }
      this.#writesLeft = undefined
      this.#crashed = true
      return HANG
    }
    if (applied) this.fixture.cluster.after = fault
    else this.fixture.cluster.before = fault
  }

  async perform(action: Action): Promise<void> {
    const { fixture, backend } = this
    const replaced = this.#replaced
    switch (action.kind) {
      case 'request':
        this.request(action.gi)
        break
      case 'want':
        this.want(action.name)
        break
      case 'requestInCall':
        backend.inExpand = () => this.request(action.gi)
        break
      case 'wantInCall':
        backend.inModify = () => this.want(action.name)
        break
      case 'expandsLike':
        backend.expandsLike = action.behaviour
        break
      case 'modifiesLike':
        backend.modifiesLike = action.behaviour
        break
      case 'node':
        this.node(action.succeeds)
        break
      case 'crashAtWrite':
        this.crashAtWrite(action.writes, action.applied)
        break
      case 'restart':
        await this.restart()
        break
      case 'label':
        this.#editClaim({ metadata: { labels: { at: String(fixture.clock.now()) } } })
        break
      case 'createClass':
        fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('bronze'))
        break
      case 'podBegins':
        fixture.cluster.store(PODS, pod('web', 'data'))
        break
      case 'podEnds':
        fixture.cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
        break
      case 'driverReturns':
        fixture.driver.return()
        break
      case 'replace':
        if (action.when === 'now') this.replace(action.object)
        else backend[action.when] = () => this.#replaceInCall(action.object)
        break
      case 'lag':
        this.#follow(action.on)
        break
      case 'pass':
        await fixture.clock.advance(action.seconds * 1000)
        break
    }
    await this.settle()
    // A call for the deleted object may still be running. Its result must not count for the new object.
    if (this.#replaced !== replaced) backend.forget()
  }

  /** Ends all faults, and lets time pass. */
  async end(): Promise<void> {
    const { fixture, backend } = this
    backend.expandsLike = 'done'
    backend.modifiesLike = 'done'
    backend.inExpand = () => undefined
    backend.inModify = () => undefined
    fixture.cluster.before = () => undefined
    fixture.cluster.after = () => undefined
    await this.settle()
    // A hanging call ends only with its process. If no call hangs, all work must end without a restart.
    if (backend.hanging > 0) await this.restart()
    this.#follow(false)
    if (fixture.claim.spec?.volumeAttributesClassName === undefined) this.want('gold')
    for (const last of ['createClass', 'podEnds', 'driverReturns'] as const) await this.perform({ kind: last })
    await this.#passNodes()
    if (!this.#claimReplaced) return
    // A recreated claim may request less than its volume has. Its user then requests the volume's size and class.
    if (giOf(fixture.claim.status?.capacity?.['storage']) < backend.size) this.request(backend.size)
    if (backend.className !== undefined) this.want(backend.className)
    await this.#passNodes()
  }

  /** Lets time pass, so that the kubelet finishes expansions. */
  async #passNodes(): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      this.node(true)
      await this.perform({ kind: 'pass', seconds: 700 })
    }
  }
}

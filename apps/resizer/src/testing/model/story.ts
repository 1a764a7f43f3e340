import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { attributesClass, CLAIM_REF, claim, NAMESPACE, pod, VOLUME_REF, volume } from '../builders.ts'
import { HANG } from '../fake-cluster.ts'
import { World } from '../world.ts'
import { Backend, type Behaviour, giOf } from './backend.ts'

/** What users, nodes and fate may do. */
export type Action =
  | { readonly do: 'request'; readonly gi: number }
  | { readonly do: 'want'; readonly name: string | null }
  | { readonly do: 'requestInCall'; readonly gi: number }
  | { readonly do: 'wantInCall'; readonly name: string }
  | { readonly do: 'expandsLike'; readonly behaviour: Behaviour }
  | { readonly do: 'modifiesLike'; readonly behaviour: Behaviour }
  | { readonly do: 'node'; readonly succeeds: boolean }
  | { readonly do: 'crashAtWrite'; readonly writes: number; readonly applied: boolean }
  | { readonly do: 'restart' | 'label' | 'createClass' | 'podBegins' | 'podEnds' | 'driverReturns' }
  | { readonly do: 'lag'; readonly on: boolean }
  | { readonly do: 'pass'; readonly seconds: number }

/** Everybody around the resizer. */
export class Story {
  readonly world = new World()
  readonly backend = new Backend(this.world)
  #lagging = false
  #crashed = false
  #writesLeft: number | undefined

  async begin(): Promise<void> {
    const { cluster } = this.world
    for (const name of ['gold', 'silver']) cluster.put(VOLUME_ATTRIBUTES_CLASSES, attributesClass(name))
    cluster.put(PERSISTENT_VOLUMES, volume())
    cluster.put(PERSISTENT_VOLUME_CLAIMS, claim())
    await this.#start()
  }

  async #start(): Promise<void> {
    this.backend.processBegins()
    await this.world.start()
    this.#follow(this.#lagging)
  }

  #follow(lagging: boolean): void {
    this.#lagging = lagging
    for (const cache of [this.world.caches.claims, this.world.caches.volumes]) {
      cache.lagging = lagging
      if (!lagging) cache.deliver()
    }
  }

  /** A process whose write was to be its last one is replaced by the next. */
  async settle(): Promise<void> {
    await this.world.clock.settle()
    if (!this.#crashed) return
    this.#crashed = false
    this.world.cluster.before = () => undefined
    this.world.cluster.after = () => undefined
    await this.restart()
  }

  async restart(): Promise<void> {
    await this.world.kill()
    await this.#start()
  }

  #editClaim(change: object): void {
    this.world.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, change)
  }

  /** The server lets a request shrink only to more than the claim has. */
  request(gi: number): void {
    const { spec, status } = this.world.claim
    const now = giOf(spec?.resources?.requests?.['storage'])
    if (gi < now && gi <= giOf(status?.capacity?.['storage'])) return
    this.backend.largestRequest = Math.max(this.backend.largestRequest, gi)
    this.#editClaim({ spec: { resources: { requests: { storage: `${gi}Gi` } } } })
  }

  /** The server lets a wish be withdrawn only while the claim has no class. */
  want(name: string | null): void {
    if (name === null && this.world.claim.status?.currentVolumeAttributesClassName !== undefined) return
    this.#editClaim({ spec: { volumeAttributesClassName: name } })
  }

  /** Kubelet's part: it begins only when it is its turn. */
  node(succeeds: boolean): void {
    const { status } = this.world.claim
    if (status?.allocatedResourceStatuses?.['storage'] !== 'NodeResizePending') return
    const capacity = this.world.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity
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
    if (applied) this.world.cluster.after = fault
    else this.world.cluster.before = fault
  }

  async perform(action: Action): Promise<void> {
    const { world, backend } = this
    switch (action.do) {
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
        this.#editClaim({ metadata: { labels: { at: String(world.clock.now()) } } })
        break
      case 'createClass':
        world.cluster.put(VOLUME_ATTRIBUTES_CLASSES, attributesClass('bronze'))
        break
      case 'podBegins':
        world.cluster.put(PODS, pod('web', 'data'))
        break
      case 'podEnds':
        world.cluster.delete(PODS, { namespace: NAMESPACE, name: 'web' })
        break
      case 'driverReturns':
        world.driver.return()
        break
      case 'lag':
        this.#follow(action.on)
        break
      case 'pass':
        await world.clock.advance(action.seconds * 1000)
        break
    }
    await this.settle()
  }

  /** All come to their senses, and time passes. */
  async end(): Promise<void> {
    const { world, backend } = this
    backend.expandsLike = 'done'
    backend.modifiesLike = 'done'
    world.cluster.before = () => undefined
    world.cluster.after = () => undefined
    await this.settle()
    // What hangs in the back end ends with its process. Whatever else there is must come to its end in this one.
    if (backend.hanging > 0) await this.restart()
    this.#follow(false)
    if (world.claim.spec?.volumeAttributesClassName === undefined) this.want('gold')
    for (const last of ['createClass', 'podEnds', 'driverReturns'] as const) await this.perform({ do: last })
    for (let round = 0; round < 4; round += 1) {
      this.node(true)
      await this.perform({ do: 'pass', seconds: 700 })
    }
  }
}

import { abortable } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import type { ControllerExpandVolumeRequest, ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import { KEY } from '../builders.ts'
import type { SeenCall } from '../fake-driver.ts'
import type { ResizerFixture } from '../fixture.ts'

/** The ways in which the storage back end can answer a call. */
export type Behaviour =
  | 'done'
  | 'nodeStep'
  | 'infeasible'
  | 'final'
  | 'inUse'
  | 'tooSmall'
  | 'lateSuccess'
  | 'noEffect'
  | 'away'
  | 'hang'

interface BackendVolume {
  size: number
  className: string | undefined
}

const GI = 2n ** 30n

/** The storage back end, which knows the actual sizes and classes of volumes, and checks each call. */
export class Backend {
  readonly fixture: ResizerFixture
  /** The volumes by handle. They stay after their PersistentVolume is deleted. */
  readonly #volumes = new Map<string, BackendVolume>([['handle-data', { size: 1, className: undefined }]])
  /** The handle in the current PersistentVolume. */
  handle = 'handle-data'
  largestRequest = 1
  expandsLike: Behaviour = 'done'
  modifiesLike: Behaviour = 'done'
  /** The actions of users during the next ControllerExpandVolume and during the next ControllerModifyVolume. */
  inExpand: () => void = () => undefined
  inModify: () => void = () => undefined
  /** The number of calls that are never answered. */
  hanging = 0
  /** The forbidden CSI requests so far. The resizer would take a thrown error for the driver's answer. */
  readonly violations: string[] = []
  /** The size that the last answer to the current process has refused for good. */
  #refused: number | undefined
  /** The size and the class that the back end may still be applying after a call without a definite result. */
  #growing: number | undefined
  #changing: string | undefined

  constructor(fixture: ResizerFixture) {
    this.fixture = fixture
    fixture.driver.expand = (call) => this.#expand(call)
    fixture.driver.modify = (call) => this.#modify(call)
  }

  get size(): number {
    return this.volumeOf(this.handle).size
  }

  get className(): string | undefined {
    return this.volumeOf(this.handle).className
  }

  volumeOf(handle: string): BackendVolume {
    const volume = this.#volumes.get(handle)
    if (volume === undefined) throw new Error(`there is no volume ${handle}`)
    return volume
  }

  /** Adds a volume to which the PersistentVolume refers from now on. Returns the handle of the volume. */
  newVolume(volume: BackendVolume): string {
    this.handle = `handle-${this.#volumes.size}`
    this.#volumes.set(this.handle, volume)
    this.forget()
    return this.handle
  }

  /** Forgets results for a claim or a volume that was deleted and recreated. */
  forget(): void {
    this.#refused = undefined
    this.#growing = undefined
    this.#changing = undefined
  }

  /** Ends the hanging calls of the old process when a new process starts. */
  processBegins(): void {
    this.#refused = undefined
    this.hanging = 0
  }

  #expand({ request, options }: SeenCall): unknown {
    const { capacityRange, volumeId } = request as ControllerExpandVolumeRequest
    const asked = Number((capacityRange?.requiredBytes ?? 0n) / GI)
    const volume = this.volumeOf(volumeId)
    const behaviour = this.expandsLike
    if (!this.#binds(volumeId)) return this.#answerFor(behaviour, options.signal, { volume, asked })
    this.#checkInvariants(asked)
    this.#refused = REFUSALS.has(behaviour) ? asked : undefined
    const begun = this.fixture.claim.status?.allocatedResourceStatuses?.['storage'] === 'ControllerResizeInProgress'
    this.#growing = begun && UNCERTAIN.has(behaviour) ? asked : undefined
    this.inExpand()
    this.inExpand = () => undefined
    return this.#answerFor(behaviour, options.signal, { volume, asked })
  }

  #answerFor(
    behaviour: Behaviour,
    signal: AbortSignal | undefined,
    { volume, asked }: { readonly volume: BackendVolume; readonly asked: number },
  ): unknown {
    return this.#answer(behaviour, signal, {
      carryOut: () => {
        volume.size = Math.max(volume.size, asked)
      },
      result: (nodeExpansionRequired) => ({ capacityBytes: BigInt(volume.size) * GI, nodeExpansionRequired }),
    })
  }

  #checkInvariants(asked: number): void {
    const request = this.#knownRequest()
    if (asked > this.largestRequest) this.violations.push(`${asked} was never wanted`)
    if (asked > this.size && asked === this.#refused && asked !== request) {
      this.violations.push(`${asked} was refused, and is no longer requested: ${request} is`)
    }
    if (this.#growing !== undefined && asked !== this.#growing) {
      this.violations.push(`${asked} was asked for while ${this.#growing} may be on its way`)
    }
  }

  /** Reports whether the call is for the current claim and volume, not for deleted objects of the same names. */
  #binds(handle: string): boolean {
    const { claim, caches } = this.fixture
    return handle === this.handle && caches.claims.store.get(KEY)?.uid === claim.metadata?.uid
  }

  #modify({ request, options }: SeenCall): unknown {
    const { mutableParameters, volumeId } = request as ControllerModifyVolumeRequest
    const { iops = '' } = mutableParameters
    const volume = this.volumeOf(volumeId)
    const binds = this.#binds(volumeId)
    if (binds && this.#changing !== undefined && iops !== this.#changing) {
      this.violations.push(`${iops} was asked for while ${this.#changing} may be on its way`)
    }
    const behaviour = ofModify(this.modifiesLike)
    if (binds) this.#changing = UNCERTAIN.has(behaviour) ? iops : undefined
    this.inModify()
    this.inModify = () => undefined
    return this.#answer(behaviour, options.signal, {
      carryOut: () => {
        volume.className = iops
      },
      result: () => ({}),
    })
  }

  /** Returns the requested size of the cached claim. */
  #knownRequest(): number {
    return giOf(this.fixture.caches.claims.store.get(KEY)?.request)
  }

  #answer(
    behaviour: Behaviour,
    signal: AbortSignal | undefined,
    { carryOut, result }: { carryOut: () => void; result: (nodeStep: boolean) => unknown },
  ): unknown {
    switch (behaviour) {
      case 'done':
        carryOut()
        return result(false)
      case 'nodeStep':
        carryOut()
        return result(true)
      case 'infeasible':
        throw new RpcError(CODES.InvalidArgument, 'never')
      case 'final':
        throw new RpcError(CODES.Internal, 'broken')
      case 'inUse':
        throw new RpcError(CODES.FailedPrecondition, 'in use')
      case 'tooSmall':
        return { capacityBytes: 0n, nodeExpansionRequired: false }
      case 'lateSuccess':
        carryOut()
        throw new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded')
      case 'noEffect':
        throw new RpcError(CODES.ResourceExhausted, 'busy')
      case 'away':
        this.fixture.driver.lose()
        throw new RpcError(CODES.Unavailable, 'lost')
      case 'hang':
        this.hanging += 1
        return abortable(new Promise(() => undefined), signal)
    }
  }
}

const REFUSALS: ReadonlySet<Behaviour> = new Set(['infeasible', 'final', 'inUse', 'tooSmall'])
const UNCERTAIN: ReadonlySet<Behaviour> = new Set(['lateSuccess', 'noEffect', 'away', 'hang'])

/** Replaces the behaviour `tooSmall` by a final error, because the answer to a modification has no size. */
const ofModify = (behaviour: Behaviour): Behaviour => (behaviour === 'tooSmall' ? 'final' : behaviour)

/** Returns a size in whole GiB. */
export function giOf(text: string | undefined): number {
  return Number((text ?? '0').replace('Gi', ''))
}

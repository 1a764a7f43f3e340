import { abortable } from '@csi-sidecars/base'
import { CODES, RpcError } from '@csi-sidecars/csi'
import type { ControllerExpandVolumeRequest, ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import type { SeenCall } from '../fake-driver.ts'
import type { World } from '../world.ts'

/** How the back end answers a call. */
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

const GI = 2n ** 30n

/** The storage and what is true about it. Knows nothing of the resizer. */
export class Backend {
  readonly world: World
  size = 1
  className: string | undefined
  largestRequest = 1
  expandsLike: Behaviour = 'done'
  modifiesLike: Behaviour = 'done'
  /** What users do while the next call is under way. */
  inExpand: () => void = () => undefined
  inModify: () => void = () => undefined
  /** Calls that will never be answered. */
  hanging = 0
  /** What should never have been asked. Kept, since whoever asks takes an exception for an answer. */
  readonly violations: string[] = []
  /** The size that was refused for good by the last answer to this process. */
  #refused: number | undefined
  /** The size and the class that may be on their way behind the caller's back. */
  #growing: number | undefined
  #changing: string | undefined

  constructor(world: World) {
    this.world = world
    world.driver.expand = (call) => this.#expand(call)
    world.driver.modify = (call) => this.#modify(call)
  }

  /** What hung in the old one is given up. */
  processBegins(): void {
    this.#refused = undefined
    this.hanging = 0
  }

  #expand({ request, options }: SeenCall): unknown {
    const asked = Number(((request as ControllerExpandVolumeRequest).capacityRange?.requiredBytes ?? 0n) / GI)
    this.#judge(asked)
    const behaviour = this.expandsLike
    this.#refused = REFUSALS.has(behaviour) ? asked : undefined
    const begun = this.world.claim.status?.allocatedResourceStatuses?.['storage'] === 'ControllerResizeInProgress'
    this.#growing = begun && UNCERTAIN.has(behaviour) ? asked : undefined
    this.inExpand()
    this.inExpand = () => undefined
    return this.#answer(behaviour, options.signal, {
      carryOut: () => {
        this.size = Math.max(this.size, asked)
      },
      result: (nodeExpansionRequired) => ({ capacityBytes: BigInt(this.size) * GI, nodeExpansionRequired }),
    })
  }

  #judge(asked: number): void {
    const known = this.#knownRequest()
    if (asked > this.largestRequest) this.violations.push(`${asked} was never wanted`)
    if (asked > this.size && asked === this.#refused && asked !== known) {
      this.violations.push(`${asked} was refused, and is not wanted any more: ${known} is`)
    }
    if (this.#growing !== undefined && asked !== this.#growing) {
      this.violations.push(`${asked} was asked for while ${this.#growing} may be on its way`)
    }
  }

  #modify({ request, options }: SeenCall): unknown {
    const { iops = '' } = (request as ControllerModifyVolumeRequest).mutableParameters
    if (this.#changing !== undefined && iops !== this.#changing) {
      this.violations.push(`${iops} was asked for while ${this.#changing} may be on its way`)
    }
    const behaviour = ofModify(this.modifiesLike)
    this.#changing = UNCERTAIN.has(behaviour) ? iops : undefined
    this.inModify()
    this.inModify = () => undefined
    return this.#answer(behaviour, options.signal, {
      carryOut: () => {
        this.className = iops
      },
      result: () => ({}),
    })
  }

  /** What this process knows the user to ask for. */
  #knownRequest(): number {
    return giOf(this.world.caches.claims.store.get('ns/data')?.request)
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
        this.world.driver.lose()
        throw new RpcError(CODES.Unavailable, 'lost')
      case 'hang':
        this.hanging += 1
        return abortable(new Promise(() => undefined), signal)
    }
  }
}

const REFUSALS: ReadonlySet<Behaviour> = new Set(['infeasible', 'final', 'inUse', 'tooSmall'])
const UNCERTAIN: ReadonlySet<Behaviour> = new Set(['lateSuccess', 'noEffect', 'away', 'hang'])

/** A modification has no size that could be too small. */
const ofModify = (behaviour: Behaviour): Behaviour => (behaviour === 'tooSmall' ? 'final' : behaviour)

/** A size of the story, all of which are whole. */
export function giOf(text: string | undefined): number {
  return Number((text ?? '0').replace('Gi', ''))
}

import type { CallOptions, Driver, DriverEvent } from '@csi-sidecars/csi'
import { RpcError } from '@csi-sidecars/csi'
import type {
  ControllerExpandVolumeRequest,
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  UnaryMethod,
} from '@csi-sidecars/csi-proto'

/** A CSI call that the fake driver has received. `at` is the monotonic time in milliseconds. */
export interface SeenCall {
  /** The name of the CSI method, for example `ControllerExpandVolume`. */
  readonly method: string
  readonly request: unknown
  readonly options: CallOptions
  readonly at: number
}

/** The function that answers a CSI call. It may throw an error, or return a promise. */
export type Answer = (call: SeenCall) => unknown

/** Returns the size that an expansion has requested, in whole GiB. */
export function requiredGi({ request }: Pick<SeenCall, 'request'>): string {
  const { capacityRange } = request as ControllerExpandVolumeRequest
  return `${(capacityRange?.requiredBytes ?? 0n) / 2n ** 30n}Gi`
}

/** A CSI driver whose answers the test sets. By default all calls succeed. */
export class FakeDriver implements Driver {
  readonly name: string
  readonly calls: SeenCall[] = []
  readonly failure = new Promise<Error>(() => undefined)
  readonly controller = new Set<ControllerRpc>()
  state: Driver['state'] = 'ready'
  lostForMs = 0
  expand: Answer = willing
  modify: Answer = () => ({})
  /** Called with each CSI call when it arrives. */
  onCall: (call: SeenCall) => void = () => undefined
  readonly #listeners = new Set<(event: DriverEvent) => void>()
  readonly #now: () => number

  constructor(name: string, now: () => number) {
    this.name = name
    this.#now = now
  }

  get capabilities(): Driver['capabilities'] {
    const plugin = { services: new Set<never>(), volumeExpansion: new Set<never>() }
    return { plugin, controllerService: true, controller: this.controller }
  }

  async call<Q, R>({ path }: UnaryMethod<Q, R>, request: Q, options: CallOptions): Promise<R> {
    const method = path.slice(path.lastIndexOf('/') + 1)
    const call: SeenCall = { method, request, options, at: this.#now() }
    this.calls.push(call)
    this.onCall(call)
    const answer = method === 'ControllerExpandVolume' ? this.expand : this.modify
    return (await answer(call)) as R
  }

  subscribe(listener: (event: DriverEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): void {
    this.state = 'closed'
  }

  lose(): void {
    this.state = 'lost'
    for (const listener of this.#listeners) listener({ type: 'lost' })
  }

  return(): void {
    this.state = 'ready'
    for (const listener of this.#listeners) listener({ type: 'ready', lostForMs: 0 })
  }
}

/** Answers that the volume has exactly the requested size, and that the node has nothing to do. */
export const willing: Answer = ({ request }) => grown(request, false)

/** Returns the answer that the volume has exactly the requested size. */
export function grown(request: unknown, nodeExpansionRequired: boolean): object {
  const { capacityRange } = request as ControllerExpandVolumeRequest
  return { capacityBytes: capacityRange?.requiredBytes ?? 0n, nodeExpansionRequired }
}

export function failing(code: number, details: string, retryAfterMs?: number): Answer {
  return () => {
    throw new RpcError(code, details, { retryAfterMs })
  }
}

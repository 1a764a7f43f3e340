import { codeNameOf, type LiveCall } from '@csi-sidecars/disturb'

/** A CSI call that has failed and has not succeeded since. */
export interface LoggedFailure {
  readonly method: string
  readonly code: string
  readonly message: string
  /** The number of failures in a row. */
  readonly times: number
}

/** The number of volumes whose failures are kept. If there are more, the oldest volume is dropped. */
const MAX_VOLUMES = 10_000

/** The failing CSI calls of all volumes, by method and actor. */
export class CallLog {
  readonly #failures = new Map<string, Map<string, LoggedFailure>>()

  /** Records the result of an ended call. `who` is the actor, for example the kubelet of one node. */
  end({ method, request, end }: LiveCall, who: string): void {
    if (end === undefined) return
    const volume = volumeOf({ request })
    const key = keyOf(method, who)
    const failures = this.#failures.get(volume) ?? new Map<string, LoggedFailure>()
    if (end.code === 0) failures.delete(key)
    else {
      const times = (failures.get(key)?.times ?? 0) + 1
      failures.set(key, { method, code: codeNameOf(end.code), message: end.message ?? '', times })
    }
    if (failures.size > 0) this.#failures.set(volume, failures)
    else this.#failures.delete(volume)
    const [oldest] = this.#failures.keys()
    if (this.#failures.size > MAX_VOLUMES && oldest !== undefined) this.#failures.delete(oldest)
  }

  /** Returns the failure of the first method in `methods` that currently fails for the volume. */
  failure(volume: string, who: string, methods: readonly string[]): LoggedFailure | undefined {
    const failures = this.#failures.get(volume)
    return methods.map((method) => failures?.get(keyOf(method, who))).find((each) => each !== undefined)
  }

  /** Returns one current failure for each method and code, with the number of volumes that have it. */
  summary(): readonly { readonly failure: LoggedFailure; readonly volumes: number }[] {
    const kinds = new Map<string, { failure: LoggedFailure; volumes: number }>()
    for (const failures of this.#failures.values()) {
      for (const failure of failures.values()) {
        const kind = `${failure.method} ${failure.code}`
        kinds.set(kind, { failure, volumes: (kinds.get(kind)?.volumes ?? 0) + 1 })
      }
    }
    return [...kinds.values()]
  }

  /** Drops the failures of a deleted volume. */
  forget(volume: string): void {
    this.#failures.delete(volume)
  }
}

function keyOf(method: string, who: string): string {
  return `${method} ${who}`
}

/** Returns the volume ID in a request. For CreateVolume it is the requested name. */
export function volumeOf({ request }: Pick<LiveCall, 'request'>): string {
  const id = request['volumeId'] ?? request['sourceVolumeId'] ?? request['name']
  return typeof id === 'string' ? id : ''
}

import { codeNameOf, type LiveCall } from '@csi-sidecars/disturb'

/** A call that has failed and has not succeeded since. */
export interface Failure {
  readonly method: string
  readonly code: string
  readonly message: string
  /** How often in a row. */
  readonly times: number
}

/** Beyond this number, the oldest failures of volumes that no row shows are dropped. */
const MOST_VOLUMES = 10_000

/** The failures of one volume, by method and actor. */
export class CallLog {
  readonly #failures = new Map<string, Map<string, Failure>>()

  /** Takes a call that has ended. `who`: the same call of another node's kubelet is another. */
  end({ method, request, end }: LiveCall, who: string): void {
    if (end === undefined) return
    const volume = volumeOf({ request })
    const key = keyOf(method, who)
    const failures = this.#failures.get(volume) ?? new Map<string, Failure>()
    if (end.code === 0) failures.delete(key)
    else {
      const times = (failures.get(key)?.times ?? 0) + 1
      failures.set(key, { method, code: codeNameOf(end.code), message: end.message ?? '', times })
    }
    if (failures.size > 0) this.#failures.set(volume, failures)
    else this.#failures.delete(volume)
    const [oldest] = this.#failures.keys()
    if (this.#failures.size > MOST_VOLUMES && oldest !== undefined) this.#failures.delete(oldest)
  }

  /** The first of the methods that fails for the volume. */
  failure(volume: string, who: string, methods: readonly string[]): Failure | undefined {
    const failures = this.#failures.get(volume)
    return methods.map((method) => failures?.get(keyOf(method, who))).find((each) => each !== undefined)
  }

  /** Returns the current failures, one of a kind, with the number of volumes. */
  summary(): readonly { readonly failure: Failure; readonly volumes: number }[] {
    const kinds = new Map<string, { failure: Failure; volumes: number }>()
    for (const failures of this.#failures.values()) {
      for (const failure of failures.values()) {
        const kind = `${failure.method} ${failure.code}`
        kinds.set(kind, { failure, volumes: (kinds.get(kind)?.volumes ?? 0) + 1 })
      }
    }
    return [...kinds.values()]
  }

  /** A deleted volume has no failures. */
  forget(volume: string): void {
    this.#failures.delete(volume)
  }
}

function keyOf(method: string, who: string): string {
  return `${method} ${who}`
}

/** The volume's handle; for a volume that is being created its chosen name. */
export function volumeOf({ request }: Pick<LiveCall, 'request'>): string {
  const id = request['volumeId'] ?? request['sourceVolumeId'] ?? request['name']
  return typeof id === 'string' ? id : ''
}

import type { KubeObject, Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Cached, ObjectIdentity } from './cached.ts'
import type { Interner } from './interner.ts'

export interface ProjectorOptions<W, T> {
  project(object: W, intern: Interner): T | undefined
  readonly intern: Interner
  readonly resource: Resource<W>
  readonly log: Logger
}

/** Limits the log if a whole cluster has invalid objects. */
const MAX_REPORTED = 1000

/** Applies a projection to all objects of the API. An invalid object causes one log line and affects no other object. */
export class Projector<W extends KubeObject, T extends Cached> {
  readonly #options: ProjectorOptions<W, T>
  readonly #reported = new Set<string>()

  constructor(options: ProjectorOptions<W, T>) {
    this.#options = options
  }

  /** Undefined for an object that is not kept or cannot be read. */
  project(object: W): T | undefined {
    try {
      return this.#options.project(object, this.#options.intern)
    } catch (error) {
      this.#reportOnce(error, object)
      return undefined
    }
  }

  /** Undefined, and reported, for something without a name: it is not even an object. */
  identify(object: W): ObjectIdentity | undefined {
    const identity = identityOf(object)
    if (identity === undefined) this.#reportOnce(new Error('the object has no name or no resourceVersion'), object)
    return identity
  }

  #reportOnce(error: unknown, object: W): void {
    const { key, uid } = identityOf(object) ?? { key: '', uid: '' }
    const id = `${key}/${uid}`
    if (this.#reported.has(id) || this.#reported.size === MAX_REPORTED) return
    this.#reported.add(id)
    this.#options.log.error(error, 'Ignoring an object that cannot be understood', {
      resource: this.#options.resource.plural,
      object: key,
    })
  }
}

function identityOf(object: KubeObject): ObjectIdentity | undefined {
  const { name, namespace, uid, resourceVersion } = object.metadata ?? {}
  if (typeof name !== 'string' || typeof resourceVersion !== 'string') return undefined
  return { key: namespace ? `${namespace}/${name}` : name, uid: uid ?? '', resourceVersion }
}

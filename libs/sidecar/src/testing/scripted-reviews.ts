import type { KubeClient } from '@csi-sidecars/kube-client'
import type { ReviewedUser } from '../http/secure/reviews.ts'

interface Access {
  readonly user: string
  readonly nonResourceAttributes: { readonly path: string; readonly verb: string }
}

/** A scripted API server that answers only reviews. */
export class ScriptedReviews {
  /** The specs of all reviews. */
  readonly asked: unknown[] = []
  users: Readonly<Record<string, ReviewedUser>>
  /** The error of each review. Undefined while the API server is reachable. */
  away: Error | undefined
  /** True: the API server never answers. */
  silent = false
  readonly client: KubeClient
  readonly #allows: (access: Access) => boolean

  constructor(users: Readonly<Record<string, ReviewedUser>>, allows: (access: Access) => boolean = () => true) {
    this.users = users
    this.#allows = allows
    const refused = (): never => {
      throw new Error('nothing but reviews')
    }
    this.client = {
      create: (_, object, options) => this.#review(object, options?.signal),
      get: refused,
      replace: refused,
      patch: refused,
      delete: refused,
      list: refused,
      watch: refused,
      discover: refused,
    }
  }

  async #review<T>(review: T, signal: AbortSignal | undefined): Promise<T> {
    const { spec } = review as { spec: Access | { token: string } }
    this.asked.push(JSON.parse(JSON.stringify(spec)))
    if (this.silent) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    if (this.away !== undefined) throw this.away
    if (!('token' in spec)) return { ...review, status: { allowed: this.#allows(spec) } }
    const user = Object.hasOwn(this.users, spec.token) ? this.users[spec.token] : undefined
    return { ...review, status: user === undefined ? { error: 'invalid bearer token' } : { authenticated: true, user } }
  }
}

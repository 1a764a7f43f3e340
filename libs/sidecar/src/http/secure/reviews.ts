import { createHash } from 'node:crypto'
import { CancelledError, type Clock, deadline } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Resource } from '@csi-sidecars/kube-types'

/** The user of a client, with the fields that the API server knows. */
export interface ReviewedUser {
  readonly username: string
  readonly uid?: string | undefined
  readonly groups?: readonly string[] | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

interface TokenReview {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: { readonly token: string }
  readonly status?: { readonly authenticated?: boolean; readonly user?: Partial<ReviewedUser> }
}

interface SubjectAccessReview {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: Omit<ReviewedUser, 'username'> & {
    readonly user: string
    readonly nonResourceAttributes: { readonly path: string; readonly verb: string }
  }
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean }
}

const REVIEW_RESOURCE = { version: 'v1', namespaced: false, subresources: [], isStored: false } as const
const TOKEN_REVIEWS: Resource<TokenReview> = {
  ...REVIEW_RESOURCE,
  group: 'authentication.k8s.io',
  plural: 'tokenreviews',
  kind: 'TokenReview',
}
const SUBJECT_ACCESS_REVIEWS: Resource<SubjectAccessReview> = {
  ...REVIEW_RESOURCE,
  group: 'authorization.k8s.io',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
}

/** The time limit of a review by the API server. Most scrapers of metrics give up after ten seconds. */
const REVIEW_TIMEOUT_MS = 5_000

/** Asks the API server who a client is and whether its request is allowed. */
export class Reviews {
  readonly #clock: Clock
  readonly #client: () => KubeClient
  readonly #users: ReviewCache<ReviewedUser | undefined>
  readonly #rights: ReviewCache<boolean>

  constructor(clock: Clock, client: () => KubeClient) {
    this.#clock = clock
    this.#client = client
    this.#users = new ReviewCache(clock)
    this.#rights = new ReviewCache(clock)
  }

  /** Returns the user of a valid token. Rejects without the API server. */
  userOf(token: string): Promise<ReviewedUser | undefined> {
    return this.#users.get(token, async () => {
      const spec = { token }
      const review: TokenReview = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec }
      const { status } = await this.#ask(TOKEN_REVIEWS, review)
      const { username = '', ...rest } = status?.user ?? {}
      return status?.authenticated === true && username !== '' ? { username, ...rest } : undefined
    })
  }

  /** Reports whether the user may use the path. Rejects without the API server. */
  allows(user: ReviewedUser, verb: string, path: string): Promise<boolean> {
    const { username, uid, groups, extra } = user
    return this.#rights.get(JSON.stringify([username, uid, groups, extra, verb, path]), async () => {
      const spec = { user: username, uid, groups, extra, nonResourceAttributes: { path, verb } }
      const review: SubjectAccessReview = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
      const { status } = await this.#ask(SUBJECT_ACCESS_REVIEWS, review)
      return status?.allowed === true && status.denied !== true
    })
  }

  async #ask<T>(resource: Resource<T>, review: T): Promise<T> {
    using limit = deadline(this.#clock, REVIEW_TIMEOUT_MS, { operation: 'a review by the API server' })
    return await this.#client().create(resource, review, { signal: limit.signal })
  }
}

/** The time for which an answer is cached, as in the delegated authentication of Kubernetes. */
const CACHE_FOR_MS = 10_000
const MAX_ANSWERS = 256
/** The maximum number of reviews at the same time. Only a client that guesses tokens causes more. */
const MAX_RUNNING_REVIEWS = 16

/**
 * Caches answers of the API server for a short time. Equal reviews at the same time share one request. Errors are not
 * cached. The keys are hashes, because a request contains a token and may be long.
 */
export class ReviewCache<T> {
  readonly #clock: Clock
  /** The answers, oldest first. */
  readonly #answers = new Map<string, { readonly value: T; readonly until: number }>()
  readonly #runningReviews = new Map<string, Promise<T>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(question: string, ask: () => Promise<T>): Promise<T> {
    const key = createHash('sha256').update(question).digest('base64')
    const storedAnswer = this.#answers.get(key)
    if (storedAnswer !== undefined && storedAnswer.until > this.#clock.monotonic())
      return Promise.resolve(storedAnswer.value)
    const asking = this.#runningReviews.get(key)
    if (asking !== undefined) return asking
    if (this.#runningReviews.size >= MAX_RUNNING_REVIEWS)
      return Promise.reject(new CancelledError('too many reviews at a time'))
    const answer = ask()
      .then((value) => this.#store(key, value))
      .finally(() => this.#runningReviews.delete(key))
    this.#runningReviews.set(key, answer)
    return answer
  }

  #store(key: string, value: T): T {
    this.#answers.delete(key)
    this.#answers.set(key, { value, until: this.#clock.monotonic() + CACHE_FOR_MS })
    if (this.#answers.size > MAX_ANSWERS) {
      const [oldest] = this.#answers.keys()
      if (oldest !== undefined) this.#answers.delete(oldest)
    }
    return value
  }
}

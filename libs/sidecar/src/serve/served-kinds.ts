import { Backoff, type Clock } from '@csi-sidecars/base'
import { isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import type { Resource } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { FeatureGates } from '../flags/feature-gates.ts'
import type { Cache } from './caches.ts'

/** The kinds to wait for. */
export interface ServedKindsOptions {
  /** Custom resources of one group and version. */
  readonly resources: readonly [Resource<unknown>, ...Resource<unknown>[]]
  readonly client: Pick<KubeClient, 'discover'>
  readonly clock: Clock
  readonly log: Logger
}

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 5_000
const REPORT_INTERVAL_MS = 60_000

/**
 * Delays caches until the API server serves their kinds. It reads the discovery document every few seconds and logs one
 * line a minute. Otherwise lists of a missing kind would fail, with ever longer pauses and a log line each.
 */
export class ServedKinds {
  readonly #options: ServedKindsOptions
  #waiting: Promise<void> | undefined
  /** A kind that the API server does not serve. */
  #missing: string | undefined
  #answeredAt = 0

  constructor(options: ServedKindsOptions) {
    this.#options = options
  }

  /** Returns a cache that is filled once its kind is served. Until then the name of the cache contains the reason. */
  delayUntilServed(cache: Cache): Cache {
    const missing = (): string | undefined => this.#missing
    const silentForMs = (): number => this.#options.clock.monotonic() - this.#answeredAt
    return {
      get name() {
        const kind = missing()
        return kind === undefined ? cache.name : `${cache.name} (the API server does not serve ${kind})`
      },
      get synced() {
        return cache.synced
      },
      get silentForMs() {
        return missing() === undefined ? cache.silentForMs : silentForMs()
      },
      run: async (signal) => {
        this.#waiting ??= this.#waitUntilServed(signal)
        await this.#waiting
        await cache.run(signal)
      },
    }
  }

  async #waitUntilServed(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const random = (): number => clock.random()
    const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS, jitter: 0.2, random })
    let reportedAt = Number.NEGATIVE_INFINITY
    while (await this.#isMissing(signal)) {
      if (this.#missing !== undefined && clock.monotonic() - reportedAt >= REPORT_INTERVAL_MS) {
        reportedAt = clock.monotonic()
        const message = 'Waiting for a kind that the API server does not serve: install its CustomResourceDefinition'
        log.warn(message, { kind: this.#missing })
      }
      await clock.sleep(pauses.next(), signal)
    }
    if (this.#missing !== undefined) log.info('The API server serves the kind now', { kind: this.#missing })
    this.#missing = undefined
  }

  /** Reports whether the API server may lack a kind. False without permission to ask: a list then logs the error. */
  async #isMissing(signal: AbortSignal): Promise<boolean> {
    const { client, clock, resources } = this.#options
    const [{ group, version }] = resources
    let served: ReadonlySet<string | undefined> = new Set()
    try {
      const answer = await client.discover(`/apis/${group}/${version}`, { signal })
      const { resources: listed = [] } = answer as { readonly resources?: readonly { readonly name?: string }[] }
      served = new Set(listed.map(({ name }) => name))
    } catch (error) {
      signal.throwIfAborted()
      if (isForbidden(error)) return false
      if (!isNotFound(error)) return true
    }
    this.#answeredAt = clock.monotonic()
    const missing = resources.find(({ plural }) => !served.has(plural))
    if (missing !== undefined) this.#missing = `${missing.plural}.${group}`
    return missing !== undefined
  }
}

const CLASS = 'VolumeAttributesClass'

/** Disables the gate VolumeAttributesClass if the API server does not serve this kind and no flag sets the gate. */
export async function attributesClassGate<N extends string>(
  gates: FeatureGates<N | typeof CLASS>,
  { client, log, signal }: Pick<ServedKindsOptions, 'client' | 'log'> & { readonly signal: AbortSignal },
): Promise<FeatureGates<N | typeof CLASS>> {
  if (gates.isExplicit(CLASS)) return gates
  try {
    if (await servesClasses(client, signal)) {
      log.info('VolumeAttributesClass v1 API is available')
      return gates
    }
  } catch (error) {
    signal.throwIfAborted()
    log.error(error, 'Failed to check VolumeAttributesClass V1 API availability')
    return gates
  }
  log.info('Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available')
  return gates.withDefault(CLASS, false)
}

async function servesClasses(client: ServedKindsOptions['client'], signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await client.discover('/apis/storage.k8s.io/v1', { signal })
    const { resources = [] } = answer as { readonly resources?: readonly { readonly kind?: string }[] }
    return resources.some(({ kind }) => kind === CLASS)
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

import { aborted, Backoff, type Clock, deadline, messageOf } from '@csi-sidecars/base'
import { isForbidden, isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import {
  type KubeObject,
  type Resource,
  VOLUME_GROUP_SNAPSHOT_CLASSES,
  VOLUME_GROUP_SNAPSHOT_CONTENTS,
} from '@csi-sidecars/kube-types'
import type { Cache } from '@csi-sidecars/sidecar'
import { type Logger, UNQUOTED } from '@csi-sidecars/telemetry'

/** How the kinds of group snapshots are looked for. */
export interface GroupKindsOptions {
  readonly client: Pick<KubeClient, 'list'>
  /** The time limit of one answer, in milliseconds. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly log: Logger
}

/** `absent`: not installed, or forbidden. `unknown`: the API server has not answered the question. */
export type GroupSupport = 'served' | 'absent' | 'unknown'

const FIRST_PAUSE_MS = 500
const MAX_PAUSE_MS = 5_000

/**
 * Finds out whether the API server serves group snapshots to this process. Only the answers 404 and 403 turn group
 * snapshots off. After any other error, the caches of group snapshots ask again until the API server answers.
 */
export class GroupKinds {
  readonly #options: GroupKindsOptions
  #support: GroupSupport = 'unknown'
  #asking: Promise<void> | undefined

  constructor(options: GroupKindsOptions) {
    this.#options = options
  }

  /** Asks once, and logs why group snapshots are off or not known yet. */
  async ask(signal: AbortSignal): Promise<GroupSupport> {
    this.#support = await this.#answer(signal)
    return this.#support
  }

  /** Returns a cache that is filled once the API server serves group snapshots. If they are absent, it stays empty. */
  delayed(cache: Cache): Cache {
    const support = (): GroupSupport => this.#support
    return {
      get name() {
        const reason = ' (the API server has not answered whether it serves group snapshots)'
        return `${cache.name}${support() === 'unknown' ? reason : ''}`
      },
      get synced() {
        return support() === 'absent' || cache.synced
      },
      get silentForMs() {
        return support() === 'served' ? cache.silentForMs : 0
      },
      run: async (signal) => {
        this.#asking ??= this.#askUntilKnown(signal)
        await this.#asking
        if (this.#support === 'absent') await aborted(signal)
        else await cache.run(signal)
      },
    }
  }

  async #askUntilKnown(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const random = (): number => clock.random()
    const pauses = new Backoff({ initialMs: FIRST_PAUSE_MS, maxMs: MAX_PAUSE_MS, jitter: 0.2, random })
    while (this.#support === 'unknown') {
      await clock.sleep(pauses.next(), signal)
      await this.ask(signal)
    }
  }

  async #answer(signal: AbortSignal): Promise<GroupSupport> {
    const { clock, timeoutMs, log } = this.#options
    try {
      using limit = deadline(clock, timeoutMs, { operation: 'reading group snapshots', signal })
      await this.#readOne(VOLUME_GROUP_SNAPSHOT_CONTENTS, limit.signal)
      await this.#readOne(VOLUME_GROUP_SNAPSHOT_CLASSES, limit.signal)
      return 'served'
    } catch (error) {
      signal.throwIfAborted()
      if (isNotFound(error) || isForbidden(error)) {
        const advice = 'Install the VolumeGroupSnapshot CRDs to use this feature'
        const message =
          'VolumeGroupSnapshot CRDs were not found; disabling the VolumeGroupSnapshot feature for this run'
        log.warn(`${message}. ${advice}: ${messageOf(error)}`, UNQUOTED)
        return 'absent'
      }
      log.warn(`Failed to look for the VolumeGroupSnapshot CRDs; looking again: ${messageOf(error)}`, UNQUOTED)
      return 'unknown'
    }
  }

  async #readOne(resource: Resource<KubeObject>, signal: AbortSignal): Promise<void> {
    for await (const _ of this.#options.client.list(resource, { pageSize: 1, signal, project: () => undefined })) return
  }
}

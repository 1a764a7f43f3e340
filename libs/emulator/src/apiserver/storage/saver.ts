import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'

export interface SaverOptions {
  readonly clock: Clock
  readonly log: Logger
  /** How long a change that no request waits for may stay unsaved; also the pause after a failure. */
  readonly delayMs: number
  /** The revision of the newest write. */
  readonly revision: () => number
  readonly save: () => Promise<void>
}

/** Saves changes, one save at a time. Changes that many requests wait for are one save. */
export class Saver {
  readonly #options: SaverOptions
  #savedRevision: number
  #running: Promise<void> = Promise.resolve()
  /** The save that begins when the running one has ended. */
  #next: Promise<void> | undefined
  #failure: { readonly error: unknown; readonly at: number } | undefined
  #cancel: (() => void) | undefined

  constructor(options: SaverOptions, savedRevision: number) {
    this.#options = options
    this.#savedRevision = savedRevision
  }

  /** Notes a change: it is saved after a delay, even if no request waits for it. */
  changed(): void {
    const { clock, delayMs } = this.#options
    this.#cancel ??= clock.schedule(delayMs, () => {
      this.#cancel = undefined
      // Waiting requests get the error; here it is logged, and another attempt follows.
      this.saved().catch(() => this.changed())
    })
  }

  /** Resolves when everything that has been written by now is saved; rejects when it cannot be. */
  async saved(): Promise<void> {
    const { clock, delayMs, revision } = this.#options
    if (this.#savedRevision >= revision()) return
    if (this.#failure !== undefined && clock.monotonic() - this.#failure.at < delayMs) throw this.#failure.error
    await this.#queued()
  }

  /** Saves the pending changes and stops. Rejects if they cannot be saved. */
  async close(): Promise<void> {
    this.#cancel?.()
    this.#cancel = () => undefined
    if (this.#savedRevision < this.#options.revision()) await this.#queued()
  }

  #queued(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      const saving = this.#save()
      this.#next = undefined
      this.#running = saving.catch(() => undefined)
      return saving
    })
    return this.#next
  }

  async #save(): Promise<void> {
    const { clock, log, revision, save } = this.#options
    const reached = revision()
    try {
      await save()
    } catch (error) {
      if (this.#failure === undefined) log.error(error, 'Failed to save data')
      this.#failure = { error, at: clock.monotonic() }
      throw error
    }
    if (this.#failure !== undefined) log.info('Data is saved again')
    this.#failure = undefined
    this.#savedRevision = reached
  }
}

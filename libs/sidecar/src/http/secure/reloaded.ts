import { messageOf } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'

/** The source of a value that another process may replace. */
export interface FileSource<T> {
  readonly read: () => Promise<readonly string[]>
  /** Creates the value from the texts. Throws if they cannot be used. */
  readonly make: (texts: readonly string[]) => T
  /** The log messages for a new value and for an unusable value. */
  readonly loaded: string
  readonly refused: string
}

/** A value that is read again from its source. An unusable value is logged once, and the previous value stays. */
export class Reloaded<T> {
  readonly #source: FileSource<T>
  readonly #log: Logger
  #texts: readonly string[]
  #complaint: string | undefined
  value: T

  /** Reads the first value. Throws if the source has no valid value. */
  static async open<T>(source: FileSource<T>, log: Logger): Promise<Reloaded<T>> {
    const texts = await source.read()
    return new Reloaded(source, { log, texts, value: source.make(texts) })
  }

  private constructor(
    source: FileSource<T>,
    { log, texts, value }: { log: Logger; texts: readonly string[]; value: T },
  ) {
    this.#source = source
    this.#log = log
    this.#texts = texts
    this.value = value
  }

  /** Reads the source. Returns whether the value has changed. */
  async look(): Promise<boolean> {
    try {
      const texts = await this.#source.read()
      const same = texts.length === this.#texts.length && texts.every((text, index) => text === this.#texts[index])
      // If the previous value returns, the next failure is logged again.
      if (!same) this.value = this.#source.make(texts)
      this.#texts = texts
      this.#complaint = undefined
      if (!same) this.#log.v(2)?.info(this.#source.loaded)
      return !same
    } catch (error) {
      const complaint = messageOf(error)
      if (complaint !== this.#complaint) this.#log.error(error, this.#source.refused)
      this.#complaint = complaint
      return false
    }
  }
}

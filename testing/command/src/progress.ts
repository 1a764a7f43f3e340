import type { Clock } from '@csi-sidecars/base'

/** The stream for progress, usually stderr. */
export interface ProgressStream {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

const COLUMNS = 80
const LOG_EVERY_MS = 60_000
const CLEAR_LINE = '\r\u001b[K'

/** The numbers and names in one line of progress. `done` and `total` count pieces of work. */
export interface ProgressState {
  readonly done: number
  readonly total: number
  readonly elapsedMs: number
  /** The names of the running pieces of work, the oldest first. */
  readonly running: readonly string[]
}

/** Shows the running work, its progress and the remaining time. */
export class Progress {
  readonly #total: number
  readonly #stream: ProgressStream
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The start of the first piece of work. The estimate of the remaining time leaves out the time before it. */
  #began: number | undefined
  readonly #running: string[] = []
  #done = 0
  #writtenAt: number

  /** `total` is the number of pieces of work. */
  constructor(total: number, stream: ProgressStream, clock: Pick<Clock, 'monotonic'>) {
    this.#total = total
    this.#stream = stream
    this.#clock = clock
    this.#writtenAt = clock.monotonic()
  }

  begin(name: string): void {
    this.#began ??= this.#clock.monotonic()
    this.#running.push(name)
    this.#show()
  }

  end(name: string): void {
    const at = this.#running.indexOf(name)
    if (at >= 0) this.#running.splice(at, 1)
    this.#done += 1
    this.#show()
  }

  /** Prints a permanent line above the progress line. */
  printLine(line: string): void {
    const terminal = this.#stream.isTTY === true
    this.#stream.write(terminal ? `${CLEAR_LINE}${line}\n` : `${line}\n`)
    if (terminal && this.#running.length > 0) this.#show()
  }

  /** Clears the progress line on a terminal. */
  stop(): void {
    if (this.#stream.isTTY === true) this.#stream.write(CLEAR_LINE)
  }

  #show(): void {
    const { isTTY = false, columns = COLUMNS } = this.#stream
    const now = this.#clock.monotonic()
    if (!isTTY && now - this.#writtenAt < LOG_EVERY_MS) return
    this.#writtenAt = now
    const elapsedMs = now - (this.#began ?? now)
    const text = progressText({ done: this.#done, total: this.#total, elapsedMs, running: this.#running })
    this.#stream.write(
      isTTY ? `${CLEAR_LINE}${text.length < columns ? text : `${text.slice(0, columns - 2)}…`}` : `${text}\n`,
    )
  }
}

/** Returns the line of progress. Its remaining time assumes that further pieces take as long as the finished ones. */
export function progressText({ done, total, elapsedMs, running }: ProgressState): string {
  const left = done === 0 || done >= total ? '' : `, about ${spanText(((total - done) * elapsedMs) / done)} left`
  const [first, ...more] = running
  const others = more.length === 0 ? '' : ` and ${more.length} more`
  const names = first === undefined ? '' : `: ${first}${others}`
  return `${done} of ${total}, ${spanText(elapsedMs)} so far${left}${names}`
}

function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}

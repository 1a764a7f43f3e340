import type { SeedProgress } from './seed.ts'

/** The output of the progress line. */
export interface ProgressOutput {
  readonly write: (text: string) => void
  /** True for a terminal, in which the last line can be replaced. */
  readonly interactive: boolean
}

const WIDTH = 20
/** Without a terminal, a line is printed after each quarter of the time. */
const SHARE = 0.25
/** The terminal codes that move to the start of the line and clear it. */
const CLEAR = '\r\u001b[K'

/** Shows the progress of a run: a bar in a terminal, lines elsewhere. */
export class ProgressPrinter {
  readonly #output: ProgressOutput
  #printed = ''

  constructor(output: ProgressOutput) {
    this.#output = output
  }

  show({ done, doing, calls, found }: SeedProgress): void {
    const text = `${doing}, ${calls} calls, ${found} found`
    if (this.#output.interactive) {
      const full = Math.round(done * WIDTH)
      return this.#output.write(`${CLEAR}  [${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${text}`)
    }
    const step = `${doing} ${Math.floor(done / SHARE)}`
    if (step === this.#printed) return
    this.#printed = step
    this.#output.write(`  ${Math.round(done * 100)} %: ${text}\n`)
  }

  /** Ends the progress line before other output. */
  end(): void {
    this.#printed = ''
    if (this.#output.interactive) this.#output.write(CLEAR)
  }
}

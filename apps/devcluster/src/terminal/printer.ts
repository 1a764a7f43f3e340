import type { StoryLine } from '../story/expectation.ts'
import type { Printer } from '../story/run-steps.ts'
import type { Style } from './style.ts'

/** The width of the output in columns. */
export const WIDTH = 80
const TIME_WIDTH = 9
const WHO_WIDTH = 18

/** Writes the story line by line: when, who, what. */
export function storyPrinter(write: (text: string) => void, style: Style): Printer {
  return {
    step: (number, title) => write(`\n${style.bold(`${String(number).padStart(2)}  ${fit(title, WIDTH - 4)}`)}\n`),
    line: (line, afterMs) => write(`${style.dim(time(afterMs))}${said(line, style)}\n`),
    // The next title reports the success or the missing event.
    ended: () => undefined,
  }
}

function time(afterMs: number): string {
  return `+${Math.round(afterMs)} ms`.padStart(TIME_WIDTH)
}

function said({ who, text }: StoryLine, style: Style): string {
  const name = fit(who, WHO_WIDTH - 1).padEnd(WHO_WIDTH)
  const shown = fit(text, WIDTH - TIME_WIDTH - 2 - WHO_WIDTH)
  return `  ${style.good(name)}${shown}`
}

/** A text that is too long ends in an ellipsis. */
export function fit(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}

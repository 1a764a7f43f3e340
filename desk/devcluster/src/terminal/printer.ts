import type { StoryLine } from '../story/expectation.ts'
import type { Printer } from '../story/run-steps.ts'

/** Functions that add colours and bold to a text. */
export interface Style {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
}

/** The width of the output in columns. */
export const WIDTH = 80
const TIME_WIDTH = 9
const WHO_WIDTH = 20

/** Prints the demo line by line: the time, the component and its action. */
export function storyPrinter(write: (text: string) => void, style: Style): Printer {
  return {
    step: (number, title) => write(`\n${style.bold(`${String(number).padStart(2)}  ${fit(title, WIDTH - 4)}`)}\n`),
    line: (line, afterMs) => write(`${style.dim(time(afterMs))}${spoken(line, style)}\n`),
    // The end of a step prints no line. The next title shows that the step has succeeded; a failure ends the run.
    ended: () => undefined,
  }
}

function time(afterMs: number): string {
  return `+${Math.round(afterMs)} ms`.padStart(TIME_WIDTH)
}

function spoken({ who, text }: StoryLine, style: Style): string {
  const name = fit(who, WHO_WIDTH - 1).padEnd(WHO_WIDTH)
  const fitted = fit(text, WIDTH - TIME_WIDTH - 2 - WHO_WIDTH)
  return `  ${style.good(name)}${fitted}`
}

/** Shortens a text to the width. A shortened text ends in an ellipsis. */
export function fit(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
}

const plain = (text: string): string => text

/** The style without colours, for files, for pipes and for NO_COLOR. */
export const PLAIN: Style = { bold: plain, dim: plain, good: plain, bad: plain }

const ansi =
  (open: number, close: number) =>
  (text: string): string =>
    `\u001b[${open}m${text}\u001b[${close}m`

const COLOURED: Style = { bold: ansi(1, 22), dim: ansi(2, 22), good: ansi(32, 39), bad: ansi(31, 39) }

/** Returns the coloured style for a terminal, unless NO_COLOR is set or the terminal is dumb. */
export function styleFor(output: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Style {
  const hasColours = output.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  return hasColours ? COLOURED : PLAIN
}

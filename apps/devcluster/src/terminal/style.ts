/** The marks of a text: colours and bold in a terminal, none elsewhere. */
export interface Style {
  bold(text: string): string
  dim(text: string): string
  good(text: string): string
  bad(text: string): string
}

const plain = (text: string): string => text

/** Marks nothing: for files, pipes, and people who asked for that. */
export const PLAIN: Style = { bold: plain, dim: plain, good: plain, bad: plain }

const ansi =
  (open: number, close: number) =>
  (text: string): string =>
    `\u001b[${open}m${text}\u001b[${close}m`

const COLOURED: Style = { bold: ansi(1, 22), dim: ansi(2, 22), good: ansi(32, 39), bad: ansi(31, 39) }

/** Colour is for terminals, unless NO_COLOR is set. */
export function styleFor(output: { readonly isTTY?: boolean }, env: NodeJS.ProcessEnv): Style {
  const wanted = output.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'
  return wanted ? COLOURED : PLAIN
}

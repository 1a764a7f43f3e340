/** The readers of command lines, for fuzzing. */
export { parseFlags } from './go-flags.ts'
export { goDuration, parseGoDuration, ValueError } from './go-values.ts'

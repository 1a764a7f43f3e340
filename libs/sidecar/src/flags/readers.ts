/** Exports the parsers of command lines, for the fuzz tests. */
export { parseFlags } from './go-flags.ts'
export { goDuration, parseGoDuration, ValueError } from './go-values.ts'

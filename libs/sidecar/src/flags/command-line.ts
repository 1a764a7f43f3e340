/** Exports flag tables and parsers to programs that read command lines of sidecars without running one. */
export { type FlaggedApp, parseCombined, prefixableFlags } from './combined-flags.ts'
export { RELEASE_ON_EXIT, resolveGates } from './feature-gates.ts'
export { FLAG_TYPES } from './flag-types.ts'
export { type Flag, type FlagTable, parseFlags } from './go-flags.ts'
export { parsePFlags } from './pflag.ts'
export { replaceRemovedFlags } from './removed-flags.ts'
export { STANDARD_FLAGS } from './standard-flags.ts'

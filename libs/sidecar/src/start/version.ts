declare const __VERSION__: string | undefined

/** Set by the build; a run from source has no version of its own. */
export const VERSION = typeof __VERSION__ === 'undefined' ? 'unknown' : __VERSION__

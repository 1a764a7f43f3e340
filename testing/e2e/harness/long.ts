/**
 * True if the long tests also run: tests that take minutes, need a tool that takes minutes to build, look for random
 * failures, or measure. The check of a pull request omits them.
 */
export const LONG = process.env['E2E_LONG'] === 'true'

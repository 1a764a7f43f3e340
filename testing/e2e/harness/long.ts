/**
 * Whether the long tests run too: tests that take minutes, need a tool that takes minutes to build, look for random
 * failures, or measure. The check of a change leaves them out.
 */
export const LONG = process.env['E2E_LONG'] === 'true'

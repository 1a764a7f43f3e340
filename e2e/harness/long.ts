/**
 * Whether the long stories are told too: those that take minutes, need a tool that takes minutes to build, look for
 * what shows itself by chance, or measure. A change does not wait for them.
 */
export const LONG = process.env['E2E_LONG'] === 'true'

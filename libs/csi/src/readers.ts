export { retryDelayMs } from './errors/rpc-error.ts'

/** This module exports the functions that read bytes from drivers, for fuzz tests. */

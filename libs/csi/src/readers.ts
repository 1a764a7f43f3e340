export { retryDelayMs } from './errors/rpc-error.ts'

/** The functions that read bytes from drivers, exported for fuzz tests. */

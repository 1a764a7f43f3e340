export { retryDelayMs } from './errors/rpc-error.ts'

/** The readers of bytes from drivers, for fuzzing. */

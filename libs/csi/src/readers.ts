/** The readers of bytes from drivers, for fuzzing. */
export { retryDelayMs } from './status-details.ts'

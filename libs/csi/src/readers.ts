/** The readers of bytes from drivers, for fuzzing. */
export { retryDelayMs } from './errors/status-details.ts'

import type { Logger } from '@csi-sidecars/telemetry'
import { setLogger } from '@grpc/grpc-js'

/** Longest part of such a line: it can hold a whole header of the driver's. */
const LONGEST = 1000

/** What grpc-js has to say is written by `log`, in its format, instead of straight to standard error. */
export function logGrpcBy(log: Logger): void {
  const line = (parts: readonly unknown[]): string => parts.join(' ').slice(0, LONGEST)
  setLogger({
    error: (...parts: readonly unknown[]) => log.error(new Error(line(parts)), 'gRPC client'),
    info: (...parts: readonly unknown[]) => log.info('gRPC client', { text: line(parts) }),
    debug: (...parts: readonly unknown[]) => log.info('gRPC client', { text: line(parts) }),
  })
}

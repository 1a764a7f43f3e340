import { deadline } from '@csi-sidecars/base'
import { Probe } from '@csi-sidecars/csi-proto'
import { type ConnectOptions, connect } from './connect.ts'

export interface ProbeOnceOptions extends ConnectOptions {
  /** For the connection and the call together. */
  readonly timeoutMs: number
}

/**
 * One Probe on a connection of its own, so that neither a busy nor a blocked connection decides what it finds. Returns
 * whether the driver is ready; a driver that does not say is. Throws ConnectError without a connection, RpcError for
 * any other failure.
 */
export async function probeOnce(options: ProbeOnceOptions): Promise<boolean> {
  const { clock, timeoutMs } = options
  const end = clock.monotonic() + timeoutMs
  using limit = deadline(clock, timeoutMs, { what: 'probing the CSI driver', signal: options.signal })
  const { signal } = limit
  const connection = await connect({ ...options, signal })
  try {
    const { ready } = await connection.call(Probe, {}, { timeoutMs: end - clock.monotonic(), signal })
    return ready !== false
  } finally {
    connection.close()
  }
}

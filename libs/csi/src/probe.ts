import { type Clock, deadline, messageOf } from '@csi-sidecars/base'
import { Probe } from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'
import { type ConnectOptions, connect } from './connect.ts'
import type { Caller } from './connection.ts'
import { CODES, RpcError } from './errors/rpc-error.ts'

export interface ProbeOptions {
  /** The time-out of each try. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly log: Logger
  readonly signal?: AbortSignal | undefined
}

const PERIOD_MS = 1_000

/**
 * Asks until the driver is ready, once a second, however long it takes: a driver that is slow to start is no failure.
 * Throws when it answers with anything else than "not ready", or when the signal is aborted.
 */
export async function probe(driver: Caller, { timeoutMs, clock, log, signal }: ProbeOptions): Promise<void> {
  for (;;) {
    const start = clock.monotonic()
    log.info('Probing CSI driver for readiness')
    try {
      const { ready } = await driver.call(Probe, {}, { timeoutMs, signal })
      // The specification has it that a driver that does not say is ready.
      if (ready !== false) return
      log.info('CSI driver is not ready')
    } catch (error) {
      signal?.throwIfAborted()
      if (!(error instanceof RpcError) || error.code !== CODES.DeadlineExceeded) {
        throw new Error(`CSI driver probe failed: ${messageOf(error)}`, { cause: error })
      }
      log.info('CSI driver probe timed out')
    }
    await clock.sleep(Math.max(0, start + PERIOD_MS - clock.monotonic()), signal)
  }
}

export interface ProbeOnceOptions extends ConnectOptions {
  /** The time limit of the connection and the call together. */
  readonly timeoutMs: number
}

/**
 * One Probe on a connection of its own, so that a busy or blocked connection does not decide its result. Returns
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

import { type Clock, messageOf } from '@csi-sidecars/base'
import { Probe } from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Caller } from './connection.ts'
import { CODES, RpcError } from './errors/rpc-error.ts'

export interface ProbeOptions {
  /** For each try. */
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

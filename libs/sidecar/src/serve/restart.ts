import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'

/** The first pause of a container that crashes. */
const RESTART_MS = 10_000

/**
 * Runs the part of one app in a shared process. An error is logged, and after a pause the part runs again, while the
 * other apps continue. Resolves with the result of the part, or with undefined if stopped after a failure.
 */
export async function restarting<T>(
  run: () => Promise<T>,
  options: {
    /** The name of the app, for the log. */
    readonly name: string
    readonly clock: Clock
    readonly log: Logger
    /** Ends the restarts. A running part must end by itself. */
    readonly stop: AbortSignal
  },
): Promise<T | undefined> {
  const { name, clock, log, stop } = options
  for (;;) {
    try {
      return await run()
    } catch (error) {
      log.error(error, 'Controller failed, it starts again after a pause', { sidecar: name })
      await clock.sleep(RESTART_MS, stop).catch(() => {})
      if (stop.aborted) return undefined
    }
  }
}

import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'

/** As long as a container that crashes waits at first. */
const RESTART_MS = 10_000

export interface RestartOptions {
  /** Whose work it is, for the log. */
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  /** Ends the restarts; what runs has to end by itself. */
  readonly stop: AbortSignal
}

/**
 * Runs an app's part of a process that others share: what it throws is logged, and after a pause it runs again, while
 * the others continue. Resolves with its result, or with undefined when stopped after a failure.
 */
export async function restarting<T>(
  run: () => Promise<T>,
  { name, clock, log, stop }: RestartOptions,
): Promise<T | undefined> {
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

import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { DriverFlags } from '../flags/combined-flags.ts'
import type { Flags, FlagTable } from '../flags/go-flags.ts'
import type { AppFlags } from './app.ts'

/** What a driver app has of its process. */
export interface DriverAppParts<T extends FlagTable> {
  readonly flags: Flags<AppFlags<T>>
  readonly clock: Clock
  readonly log: Logger
  /** Whether it is the only app of the process. */
  readonly alone: boolean
  /** Aborted when the process is asked to end before it has started. */
  readonly signal: AbortSignal
  /** Registers what must be closed when the process ends. */
  readonly atEnd: (close: () => void) => void
}

/**
 * A sidecar that asks only the driver. It needs no API server and no lease, starts beside the controllers of its
 * process, without waiting for them, and works until the process ends. It has no program of its own.
 */
export interface DriverApp<T extends FlagTable> {
  readonly name: string
  /** Its name in --controllers and before its flags. */
  readonly prefix: string
  /** The Go original that it replaces, with the version. */
  readonly replaces: string
  /** Beside the standard ones. */
  readonly flags: T
  /** The standard flags that it takes. */
  readonly driverFlags: DriverFlags
  /** The last line of the log when a controller ends the process, and with it this app. */
  readonly endsToo: string
  /** Resolves once it works. Throws StartError. */
  readonly open: (parts: DriverAppParts<T>) => Promise<void>
}

/** A driver app of a process with its command line. The types of its flags are hidden. */
export interface DriverAppInstance {
  readonly replaces: string
  readonly endsToo: string
  readonly open: (parts: Omit<DriverAppParts<FlagTable>, 'flags'>) => Promise<void>
}

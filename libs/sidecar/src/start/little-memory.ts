import type { Logger } from '@csi-sidecars/telemetry'

const MIB = 1024 * 1024
/** Below that the pages of the executable are read from disk again and again: the process lives, and hardly works. */
const NEEDED_MIB = { one: 80, several: 96 }
const PER_THOUSAND_OBJECTS_MIB = 2

export interface MemoryToCheck {
  /** Bytes that the control groups of the process grant; undefined: not known. */
  readonly limit: number | undefined
  /** Sidecars in this process. */
  readonly sidecars: number
}

/** Logs that the memory limit is too low for the sidecar, which nothing else would say: it is not killed, only slow. */
export function warnOfLittleMemory({ limit, sidecars }: MemoryToCheck, log: Logger): void {
  const needed = sidecars > 1 ? NEEDED_MIB.several : NEEDED_MIB.one
  if (limit === undefined || limit >= needed * MIB) return
  log.warn('The memory limit is too low: the sidecar will be slow, and read from disk all the time', {
    limit: `${Math.floor(limit / MIB)}Mi`,
    needed: `${needed}Mi`,
    neededPerThousandObjects: `${PER_THOUSAND_OBJECTS_MIB}Mi`,
  })
}

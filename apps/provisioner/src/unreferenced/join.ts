import { searchRegularly } from '@csi-sidecars/sidecar'
import type { ClaimMemory } from '../claims/memory.ts'
import { type ProvisionerParts, SIDECAR, type TermParts } from '../parts.ts'
import { UnreferencedVolumes } from './volumes.ts'

/** Everything that the search for unreferenced volumes needs during one term. */
export interface UnreferencedTerm
  extends Pick<TermParts, 'settings' | 'claims' | 'volumes' | 'driver' | 'clock' | 'log'>,
    Pick<ProvisionerParts, 'unreferenced'> {
  readonly memory: ClaimMemory
}

/** Returns the task that searches the back end and adds its findings to the report. Undefined if a flag turns it off. */
export function unreferencedTask(
  term: UnreferencedTerm,
): ((queue: unknown, stop: AbortSignal) => Promise<void>) | undefined {
  const { settings, driver, clock, log, unreferenced } = term
  const { unreferencedIntervalMs: intervalMs, unreferencedHandleFilter: handleFilter } = settings
  if (intervalMs <= 0) return undefined
  return async (_queue, stop) => {
    const listPage = driver.canListVolumes ? driver.listPage : undefined
    const volumes = new UnreferencedVolumes({ ...term, listPage, handleFilter })
    const leave = unreferenced.join({ sidecar: SIDECAR, kind: 'volume', read: () => volumes.read() })
    try {
      await searchRegularly({ intervalMs, search: (signal) => volumes.search(signal), clock, log }, stop)
    } finally {
      leave()
    }
  }
}

import { driverWhileLeading, snapshotClient } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import { searchRegularly } from '@csi-sidecars/sidecar'
import type { ContentMemory } from '../content/memory.ts'
import type { SnapshotterParts } from '../parts.ts'
import { UnreferencedSnapshots } from './snapshots.ts'

/**
 * Returns the task that searches the back end and adds its findings to the report. Undefined if a flag turns it off, if
 * the driver cannot list its snapshots, or with `--node-deployment`, which hides the contents of other nodes.
 */
export function unreferencedTask(
  term: SnapshotterParts,
  memories: readonly ContentMemory[],
  assertLeading: () => void,
): ((queue: unknown, stop: AbortSignal) => Promise<void>) | undefined {
  const { settings, snapshots, groups, clock, log, unreferenced } = term
  const { unreferencedIntervalMs: intervalMs, unreferencedHandleFilter: handleFilter, timeoutMs } = settings
  const canList = term.driver.capabilities.controller.has(ControllerRpc.LIST_SNAPSHOTS)
  if (intervalMs <= 0 || !canList || settings.onEachNode) return undefined
  const calls = snapshotClient(driverWhileLeading(term.driver, assertLeading, log))
  const question = { maxEntries: 0, sourceVolumeId: '', snapshotId: '', secrets: {} }
  return async (_queue, stop) => {
    const found = new UnreferencedSnapshots({
      contents: snapshots.contents,
      groupContents: groups?.contents,
      memories,
      listPage: (startingToken, signal) => calls.listSnapshots({ ...question, startingToken }, { timeoutMs, signal }),
      handleFilter,
      clock,
    })
    const leave = unreferenced.join({ sidecar: 'external-snapshotter', kind: 'snapshot', read: () => found.read() })
    try {
      await searchRegularly({ intervalMs, search: (signal) => found.search(signal), clock, log }, stop)
    } finally {
      leave()
    }
  }
}

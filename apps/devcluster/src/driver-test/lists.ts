import { type Driver, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ListVolumes,
  type ListVolumesResponse_Entry,
} from '@csi-sidecars/csi-proto'
import type { Listed } from './listing.ts'

const LIST_MS = 30_000
/** Of one list; a driver that gives more is going round in circles. */
const MOST_PAGES = 1_000

export function canList(driver: Driver): boolean {
  return driver.capabilities.controller.has(ControllerRpc.LIST_VOLUMES)
}

export function tellsNodes(driver: Driver): boolean {
  return driver.capabilities.controller.has(ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES)
}

/** All volumes that the driver lists; undefined when it could not be asked at this moment. */
export async function listVolumes(driver: Driver, signal: AbortSignal): Promise<readonly Listed[] | undefined> {
  const entries: ListVolumesResponse_Entry[] = []
  let startingToken = ''
  try {
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const answer = await driver.call(ListVolumes, { startingToken, maxEntries: 0 }, { timeoutMs: LIST_MS, signal })
      entries.push(...answer.entries)
      startingToken = answer.nextToken
      if (startingToken === '') return entries.map((entry) => listed(entry, tellsNodes(driver)))
    }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof RpcError) return undefined
    throw error
  }
  throw new Error(`ListVolumes of ${driver.name} has no end: more than ${MOST_PAGES} pages`)
}

function listed({ volume, status }: ListVolumesResponse_Entry, withNodes: boolean): Listed {
  return {
    id: volume?.volumeId ?? '',
    capacity: volume?.capacityBytes ?? 0n,
    nodes: withNodes ? (status?.publishedNodeIds ?? []) : undefined,
  }
}

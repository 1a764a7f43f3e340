import type { Clock } from '@csi-sidecars/base'
import { type Driver, RpcError } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  ListVolumes,
  type ListVolumesResponse_Entry,
} from '@csi-sidecars/csi-proto'
import type { Listed } from '../checks/listing.ts'
import { LATER } from '../checks/repetition.ts'

const LIST_MS = 30_000
/** The largest number of pages of one list. A list with more pages is treated as endless. */
const MOST_PAGES = 1_000

export function canList(driver: Driver): boolean {
  return driver.capabilities.controller.has(ControllerRpc.LIST_VOLUMES)
}

export function listsNodes(driver: Driver): boolean {
  return driver.capabilities.controller.has(ControllerRpc.LIST_VOLUMES_PUBLISHED_NODES)
}

/** The volumes in the driver's list, or the reason why there is no list. */
export type ListAnswer =
  | { readonly is: 'list'; readonly volumes: readonly Listed[] }
  | { readonly is: 'failure'; readonly why: string /** The driver asks for a retry. */; readonly later: boolean }

/** Reads all pages of the driver's list of volumes. */
export async function listVolumes(driver: Driver, signal: AbortSignal): Promise<ListAnswer> {
  const entries: ListVolumesResponse_Entry[] = []
  let startingToken = ''
  try {
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const answer = await driver.call(ListVolumes, { startingToken, maxEntries: 0 }, { timeoutMs: LIST_MS, signal })
      entries.push(...answer.entries)
      startingToken = answer.nextToken
      if (startingToken === '') {
        return { is: 'list', volumes: entries.map((entry) => listed(entry, listsNodes(driver))) }
      }
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof RpcError)) throw error
    return { is: 'failure', why: `${error.codeName} ${JSON.stringify(error.details)}`, later: LATER.has(error.code) }
  }
  return { is: 'failure', why: `it has no end, there are more than ${MOST_PAGES} pages`, later: false }
}

function listed({ volume, status }: ListVolumesResponse_Entry, withNodes: boolean): Listed {
  return {
    id: volume?.volumeId ?? '',
    capacity: volume?.capacityBytes ?? 0n,
    nodes: withNodes ? (status?.publishedNodeIds ?? []) : undefined,
  }
}

/** The number of checks for remaining objects. A provisioner may need ten seconds until it repeats a deletion. */
const GONE_LOOKS = 20
const GONE_MS = 60_000
/** The pause between two checks. */
const GONE_LOOK_MS = 1_000

/**
 * Repeats `look` until the list is empty or the time is over. Returns the last list that `look` returned. Undefined if
 * `look` never returned a list.
 */
export async function leftAtLast(
  look: () => Promise<readonly string[] | undefined>,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  let left: readonly string[] | undefined
  const until = clock.monotonic() + GONE_MS
  for (let looks = GONE_LOOKS; looks > 0 && clock.monotonic() < until; looks -= 1) {
    left = (await look()) ?? left
    if (left?.length === 0) break
    await clock.sleep(GONE_LOOK_MS, signal)
  }
  return left
}

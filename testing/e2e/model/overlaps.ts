import type { Finding } from '@csi-sidecars/disturb'
import type { Call } from '../harness/driver/driver.ts'
import { handleOf, isSingleNode, METHODS, nodeOf, pairOf } from './back-end.ts'

/** The longest time after which the driver notices that its caller has cancelled a call, or that the call timed out. */
const CANCELLED_EARLIER_MS = 50

/** Returns a finding for each pair of calls that overlapped, but must not. */
export function overlaps(calls: readonly Call[]): readonly Finding[] {
  const groups = Map.groupBy(
    calls.flatMap((call) => groupsOf(call).map((group) => ({ group, call }))),
    ({ group }) => group,
  )
  return [...groups].flatMap(([group, members]) =>
    overlapsIn(
      group,
      members.map(({ call }) => call),
    ),
  )
}

export function isVolumeCall({ method }: Call): boolean {
  return METHODS.some((each) => each === method)
}

/** Returns the keys of a call. Calls with a common key must not overlap. */
function groupsOf(call: Call): readonly string[] {
  const handle = handleOf(call)
  switch (call.method) {
    case 'ControllerPublishVolume':
      return [pairOf(handle, nodeOf(call)), ...(isSingleNode(call) ? [`publish of ${handle}`] : [])]
    case 'ControllerUnpublishVolume':
      return [pairOf(handle, nodeOf(call))]
    case 'ControllerExpandVolume':
      return [`expand of ${handle}`]
    case 'ControllerModifyVolume':
      return [`modify of ${handle}`]
    case 'CreateVolume':
    case 'CreateSnapshot':
    case 'CreateVolumeGroupSnapshot':
      return [`create of ${call.request['name']}`]
    case 'DeleteVolume':
    case 'DeleteSnapshot':
    case 'DeleteVolumeGroupSnapshot':
      return [`delete of ${handle}`]
    default:
      return []
  }
}

function overlapsIn(group: string, calls: readonly Call[]): readonly Finding[] {
  const sorted = calls.toSorted((a, b) => a.start - b.start)
  return sorted.slice(1).flatMap((call, index) => {
    const before = sorted.slice(0, index + 1).find((each) => each.start <= call.start && endOf(each) > call.start)
    if (before === undefined) return []
    const text = `${group}: ${briefly(before)} and ${briefly(call)}`
    return [{ rule: 'no two calls at once', subject: handleOf(call), text }]
  })
}

function endOf({ start, timeoutMs, end, cancelled, abandonedAt }: Call): number {
  const ended = abandonedAt ?? end ?? Number.POSITIVE_INFINITY
  return Math.min(cancelled ? ended - CANCELLED_EARLIER_MS : ended, start + timeoutMs - CANCELLED_EARLIER_MS)
}

/** Returns a line such as `12:00:00.000 to 12:00:00.300 ControllerExpandVolume {...} code 13`. */
export function briefly({ method, request, start, end, code, cancelled }: Call): string {
  const { name, volume_id, snapshot_id, group_snapshot_id, node_id, capacity_range, mutable_parameters } = request
  const ids = { name, volume_id, snapshot_id, group_snapshot_id }
  const fields = JSON.stringify({ ...ids, node_id, capacity_range, mutable_parameters })
  return `${clock(start)} to ${clock(end)} ${method} ${fields} ${cancelled && code === undefined ? 'cancelled' : `code ${code}`}`
}

function clock(ms: number | undefined): string {
  return ms === undefined ? '...' : new Date(ms).toISOString().slice(11, 23)
}

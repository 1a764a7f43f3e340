import type { Finding } from '@csi-sidecars/disturb'
import type { Call } from '../harness/driver/driver.ts'

/** The time and the number of equal calls in it. The back-off of a history, with its steps, permits far fewer calls. */
const WINDOW_MS = 2_000
const MAX_CALLS = 30

/** Returns a finding for each call of snapshots that was repeated without its back-off. */
export function bursts(calls: readonly Call[]): readonly Finding[] {
  const starts = new Map<string, number[]>()
  for (const { method, request, start } of calls) {
    if (!method.includes('Snapshot')) continue
    const subject = `${method} ${request['name'] ?? request['snapshot_id'] ?? request['group_snapshot_id']}`
    starts.set(subject, [...(starts.get(subject) ?? []), start])
  }
  const isBurst = (times: readonly number[]): boolean =>
    times.some((start, nth) => start - (times[nth - MAX_CALLS] ?? Number.NEGATIVE_INFINITY) < WINDOW_MS)
  const found = [...starts].filter(([, times]) => isBurst(times))
  return found.map(([subject, { length }]) => ({
    rule: 'a lasting error costs what the back-off says',
    text: `${subject}: ${length} calls`,
  }))
}

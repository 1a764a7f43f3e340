import type { Event } from '@csi-sidecars/kube-types'
import { type ClusterFacts, textOf, timeOf } from '../facts/facts.ts'
import type { Evidence } from './finding.ts'

/** Returns the newest event about an object with one of these reasons. */
export function lastEvent(
  uid: string | undefined,
  { events }: Pick<ClusterFacts, 'events'>,
  reasons: readonly string[],
): Event | undefined {
  const eventsOfObject = (events.get(uid ?? '') ?? []).filter(({ reason }) => reasons.includes(reason ?? ''))
  return eventsOfObject.toSorted((a, b) => lastTime(b) - lastTime(a))[0]
}

/** Returns the time of the last occurrence. Events of newer recorders have only an `eventTime`. */
export function lastTime({ lastTimestamp, eventTime, metadata }: Event): number {
  return timeOf(lastTimestamp) ?? timeOf(eventTime) ?? timeOf(metadata.creationTimestamp) ?? 0
}

export function eventEvidence(event: Event | undefined): readonly Evidence[] {
  if (event === undefined) return []
  const { involvedObject } = event
  const objectText = textOf({
    kind: involvedObject.kind ?? '',
    namespace: involvedObject.namespace,
    name: involvedObject.name ?? '',
  })
  const object = { kind: `Event ${event.reason} of`, name: objectText }
  const times = `${event.count ?? 1} times from ${event.firstTimestamp ?? '?'} to ${event.lastTimestamp ?? '?'}`
  return [
    { object, field: '.message', value: event.message ?? '' },
    { object, field: '.count', value: times },
  ]
}

export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const definedTimes = times.filter((time) => time !== undefined)
  return definedTimes.length === 0 ? undefined : Math.min(...definedTimes)
}

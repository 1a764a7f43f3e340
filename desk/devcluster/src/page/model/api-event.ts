import type { Cached } from '@csi-sidecars/informer'
import type { Event } from '@csi-sidecars/kube-types'
import { identityOf } from '@csi-sidecars/volume-controllers'
import type { LastEvent, TimelineEntry } from '../view/wire.ts'

/** The fields of an Event that the page shows. */
export interface CachedEvent extends Cached {
  readonly kind: string
  /** The namespace and name of the involved object, such as `default/data`. */
  readonly subject: string
  readonly component: string
  readonly isWarning: boolean
  readonly reason: string
  readonly message: string
  /** How often the event has happened. */
  readonly count: number
  /** The time of the Event in milliseconds since 1970. Undefined if the Event has no time. */
  readonly at: number | undefined
}

export function eventProjection(event: Event): CachedEvent {
  const { involvedObject, reason = '', message = '', type, count, source, metadata, series } = event
  const { kind = '', namespace, name = '' } = involvedObject
  const at = Date.parse(event.lastTimestamp ?? event.eventTime ?? metadata?.creationTimestamp ?? '')
  return {
    ...identityOf(event),
    kind,
    subject: namespace ? `${namespace}/${name}` : name,
    component: source?.component || event.reportingComponent || '',
    isWarning: type === 'Warning',
    reason,
    message,
    count: series?.count ?? count ?? 1,
    at: Number.isNaN(at) ? undefined : at,
  }
}

/** Returns the item that shows the last Event of a row or of an actor. `of` is the ID of the row or actor. */
export function lastEvent(of: string, event: CachedEvent, at: number): LastEvent {
  const { kind, subject, reason, message, isWarning, count } = event
  const line = { at, text: message, ...(isWarning && { bad: true }) }
  return { kind: 'event', id: `event/${of}`, of, line, reason, object: aboutText(kind, subject), count }
}

export function eventLine({ kind, subject, reason, message, isWarning }: CachedEvent, who: string): TimelineEntry {
  return { who, text: `${aboutText(kind, subject)}: ${reason}: ${message}`, ...(isWarning && { bad: true }) }
}

function aboutText(kind: string, subject: string): string {
  return `${kind} ${subject.slice(subject.indexOf('/') + 1)}`
}

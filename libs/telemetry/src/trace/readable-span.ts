import { type HrTime, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Span } from './span.ts'

/** The program that sends spans. */
export interface Sender {
  readonly resource: Resource
  readonly scope: { readonly name: string; readonly version: string }
}

/** Returns a span in the form that the packages of OpenTelemetry export. */
export function readableSpan(span: Span, { resource, scope }: Sender): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, attributes, error, startMs, endMs } = span
  const context = { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
  return {
    name,
    kind: span.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => context,
    ...(parentSpanId !== undefined && { parentSpanContext: { ...context, spanId: parentSpanId } }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs),
    duration: hrTime(endMs - startMs),
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Returns seconds and nanoseconds. Rounds to microseconds, because the clock is not more precise. */
function hrTime(ms: number): HrTime {
  const microseconds = Math.round(ms * 1000)
  const seconds = Math.floor(microseconds / 1e6)
  return [seconds, (microseconds - seconds * 1e6) * 1000]
}

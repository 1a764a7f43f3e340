import { deepStrictEqual as equal } from 'node:assert'
import { OtlpReceiver, type ReceivedSpan } from '@csi-sidecars/telemetry/testing'
import type { WireRequest } from '../../harness/api/wire.ts'
import { eventually } from '../../harness/waiting.ts'

export const TRACING = '--enable-otel-tracing'

/** Exports spans without delay. */
export function exportTo(endpoint: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '50', ...more }
}

/** Runs a test with a collector; the test fails if the collector refuses anything. */
export async function withCollector(
  run: (collector: OtlpReceiver) => Promise<void>,
  collector = new OtlpReceiver(),
): Promise<void> {
  await collector.open()
  try {
    await run(collector)
    equal(collector.refusals, [])
  } finally {
    await collector.close()
  }
}

/** A run as its spans describe it. */
export interface Trace {
  readonly root: ReceivedSpan
  /** Its parts as they began. */
  readonly parts: readonly ReceivedSpan[]
}

/** The first run of that name, with the call if one is named; it is complete, because its own span is exported last. */
export async function traceOf({ spans }: OtlpReceiver, operation: string, call?: string): Promise<Trace> {
  const partsOf = ({ spanId }: ReceivedSpan): ReceivedSpan[] => spans.filter((each) => each.parentSpanId === spanId)
  const made = (root: ReceivedSpan): boolean => call === undefined || partsOf(root).some(({ name }) => name === call)
  const root = await eventually(`a span ${operation}`, () =>
    spans.find((span) => span.name === operation && made(span)),
  )
  return { root, parts: partsOf(root).toSorted((a, b) => Number(a.startNano - b.startNano)) }
}

export const namesOf = (spans: readonly ReceivedSpan[]): string[] => spans.map(({ name }) => name)

export function traceparentOf({ traceId, spanId }: Pick<ReceivedSpan, 'traceId' | 'spanId'>): string {
  return `00-${traceId}-${spanId}-01`
}

/** The traceparent header of each of these requests. */
export function traceparentsOf(requests: readonly WireRequest[], method: string): readonly (string | undefined)[] {
  return requests.filter((each) => each.method === method).map(({ traceparent }) => traceparent)
}

const WIDTH = 44

/** A run as a picture: its parts below it, each a bar from its beginning to its end. */
export function drawn({ root, parts }: Trace): string {
  const whole = Number(root.endNano - root.startNano)
  const at = (nano: bigint): number => Math.round((Number(nano - root.startNano) / whole) * WIDTH)
  const line = (branch: string, span: ReceivedSpan): string => {
    const from = Math.min(at(span.startNano), WIDTH - 1)
    const bar = '█'.repeat(Math.max(at(span.endNano) - from, 1))
    const ms = (Number(span.endNano - span.startNano) / 1e6).toFixed(1)
    return `${`${branch}${span.name}`.padEnd(46)}${(' '.repeat(from) + bar).padEnd(WIDTH)}${ms.padStart(6)} ms`
  }
  const branches = parts.map((span, index) => line(index === parts.length - 1 ? '└─ ' : '├─ ', span))
  return [line('', root), ...branches].join('\n')
}

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { OtlpReceiver, type ReceivedSpan } from '@csi-sidecars/telemetry/testing'
import { codeBlocks } from '../../../../tools/docs/documents.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { TestContext } from '../../harness/context.ts'
import { start, stop, textOf } from '../../harness/process/processes.ts'
import { goProgram } from '../../harness/programs/binaries.ts'
import { LONG, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attachAndWait, attachFailed, scene } from '../../rows/attacher/scene.ts'
import { ask, createBoundClaim, resized, scene as resizerScene } from '../../rows/resizer/scene.ts'

export const TRACING = '--enable-otel-tracing'

/** Returns the environment variables that export spans to this endpoint without delay. */
export function exportTo(endpoint: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '50', ...more }
}

/** Opens a collector of traces. The test fails at its end if the collector has refused anything. */
export async function collecting(): Promise<{ readonly collector: OtlpReceiver } & AsyncDisposable> {
  const collector = await new OtlpReceiver().open()
  const end = async (): Promise<void> => {
    await collector.close()
    equal(collector.refusals, [])
  }
  return { collector, [Symbol.asyncDispose]: end }
}

/** The spans of one run. A run is one attempt to process one object. */
interface Trace {
  readonly root: ReceivedSpan
  /** The child spans of the run, in the order of their start. */
  readonly children: readonly ReceivedSpan[]
}

/** Waits for the spans of the first run of an operation. If `call` is given, the run must contain this driver call. */
export async function traceOf({ spans }: OtlpReceiver, operation: string, call?: string): Promise<Trace> {
  const partsOf = ({ spanId }: ReceivedSpan): ReceivedSpan[] => spans.filter((each) => each.parentSpanId === spanId)
  const made = (root: ReceivedSpan): boolean => call === undefined || partsOf(root).some(({ name }) => name === call)
  const root = await eventually(`a span ${operation}`, () =>
    spans.find((span) => span.name === operation && made(span)),
  )
  return { root, children: partsOf(root).toSorted((a, b) => Number(a.startNano - b.startNano)) }
}

const namesOf = (spans: readonly ReceivedSpan[]): string[] => spans.map(({ name }) => name)

function traceparentOf({ traceId, spanId }: Pick<ReceivedSpan, 'traceId' | 'spanId'>): string {
  return `00-${traceId}-${spanId}-01`
}

/** Returns the traceparent headers of the requests with this method. */
function traceparentsOf(requests: readonly WireRequest[], method: string): readonly (string | undefined)[] {
  return requests.filter((each) => each.method === method).map(({ traceparent }) => traceparent)
}

const WIDTH = 44

/** Draws the spans of an attempt as text: one line per span, with a bar from its start to its end. */
function drawn({ root, children }: Trace): string {
  const totalNano = Number(root.endNano - root.startNano)
  const at = (nano: bigint): number => Math.round((Number(nano - root.startNano) / totalNano) * WIDTH)
  const line = (branch: string, span: ReceivedSpan): string => {
    const from = Math.min(at(span.startNano), WIDTH - 1)
    const bar = '█'.repeat(Math.max(at(span.endNano) - from, 1))
    const ms = (Number(span.endNano - span.startNano) / 1e6).toFixed(1)
    return `${`${branch}${span.name}`.padEnd(46)}${(' '.repeat(from) + bar).padEnd(WIDTH)}${ms.padStart(6)} ms`
  }
  const branches = children.map((span, index) => line(index === children.length - 1 ? '└─ ' : '├─ ', span))
  return [line('', root), ...branches].join('\n')
}

const test = testsOf('attacher', 'traces')
/** The Go sidecars have no tracing. */
const OURS = { only: 'ours' } as const
const PUBLISH = 'csi.v1.Controller/ControllerPublishVolume'

test('an attach is one trace, which continues in the API server and in the driver', OURS, async (t) => {
  await using traces = await collecting()
  const { collector } = traces
  const secretRef = await t.createSecret({ password: 'canary-password' })
  const env = exportTo(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-token' })
  const at = await scene(t, { args: [TRACING], env })
  await attachAndWait(t, at, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  const { root, children } = await traceOf(collector, 'attach')
  equal(namesOf(children), [
    'wait in queue',
    'PATCH persistentvolumes',
    'GET secrets',
    'PATCH volumeattachments',
    PUBLISH,
    'PATCH volumeattachments/status',
  ])
  ok(children.every(({ traceId }) => traceId === root.traceId))
  const names = { 'k8s.volumeattachment.name': t.name('va'), 'k8s.node.name': at.node }
  equal(root.attributes, {
    'csi.driver.name': t.driverName,
    'k8s.persistentvolume.name': t.name('pv'),
    ...names,
    'csi.sidecar.outcome': 'settled',
  })
  const [call] = at.driver.callsOf('ControllerPublishVolume')
  equal(call?.metadata['traceparent'], children.filter(({ name }) => name === PUBLISH).map(traceparentOf)[0])
  const patches = children.filter(({ name }) => name.startsWith('PATCH'))
  equal(traceparentsOf(at.attacher.gate.requests, 'PATCH'), patches.map(traceparentOf))
  equal(root.resource['service.name'], basename(t.executable()))
  equal(collector.requests[0]?.authorization, 'Bearer canary-token')
  const all = JSON.stringify(collector.spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  ok(!/canary/.test(all), 'no secret value in a span')
  ok(!/canary/.test(at.attacher.stderr), 'nor in a line')
})

test(
  'docs/reference.md shows the real spans of an attach, and every log line contains the ID of the trace',
  OURS,
  async (t) => {
    await using traces = await collecting()
    const { collector } = traces
    const at = await scene(t, { args: [TRACING, '-v=5'], env: exportTo(collector.url) })
    at.driver.on('ControllerPublishVolume', { reply: { publishContext: {} }, after: 40 })
    await attachAndWait(t, at)
    const trace = await traceOf(collector, 'attach')
    const picture = drawn(trace)
    writeFileSync(join(t.folder, 'trace.txt'), picture)
    const page = readFileSync(resolve(import.meta.dirname, '../../../../docs/reference.md'), 'utf8')
    const documented = codeBlocks(page).find(({ text }) => text.startsWith('attach  '))?.text ?? ''
    const names = (text: string): string[] =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.slice(0, 46).trimEnd())
    equal(names(documented), names(picture), picture)
    const messages = at.attacher
      .linesWith(`traceID="${trace.root.traceId}"`)
      .map((line) => /\] "([^"]*)"/.exec(line)?.[1])
    const steps = ['Attaching', 'GRPC call', 'GRPC response', 'Attached', 'Fully attached']
    equal(
      messages.filter((message) => steps.includes(message ?? '')),
      steps,
    )
    const others = at.attacher
      .linesWith(`VolumeAttachment="${t.name('va')}"`)
      .filter((line) => !line.includes('Ignoring'))
    for (const line of others) match(line, / traceID="[0-9a-f]{32}"$/)
  },
)

test('without tracing, the log lines of one attach attempt share an ID that is in no request', OURS, async (t) => {
  const at = await scene(t, { args: ['-v=4', '--logging-format=json'] })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth === 0 ? { code: 13, message: 'no' } : { reply: { publishContext: {} } },
  )
  await attach(t, at)
  await attachFailed(t)
  const va = t.name('va')
  const entries = await eventually('a second run', () => {
    const found = at.attacher.lines.map((line) => JSON.parse(line)).filter((entry) => entry.VolumeAttachment === va)
    return found.some(({ msg }) => msg === 'Fully attached') ? found : undefined
  })
  const failed = entries.find(({ msg }) => msg === 'Error processing')
  const begun = entries.find(({ msg }) => msg === 'Attaching')
  const done = entries.find(({ msg }) => msg === 'Fully attached')
  match(begun.traceID, /^[0-9a-f]{32}$/)
  equal(failed.traceID, begun.traceID)
  ok(done.traceID !== begun.traceID)
  ok(at.attacher.gate.requests.every(({ traceparent }) => traceparent === undefined))
  ok(at.driver.calls.every(({ metadata }) => metadata['traceparent'] === undefined))
})

const resizer = testsOf('resizer', 'traces')
const EXPAND = 'csi.v1.Controller/ControllerExpandVolume'

resizer('the trace of an expansion continues the trace in the annotation of the claim', OURS, async (t) => {
  await using traces = await collecting()
  const { collector } = traces
  const { driver } = await resizerScene(t, { args: [TRACING], env: exportTo(collector.url) })
  await createBoundClaim(t)
  const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
  await t.api.merge(
    PERSISTENT_VOLUME_CLAIMS,
    { namespace: 'default', name: t.name('pvc') },
    { metadata: { annotations: { traceparent: traceparentOf(parent) } } },
  )
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  const { root, children } = await traceOf(collector, 'expand', EXPAND)
  equal([root.traceId, root.parentSpanId], [parent.traceId, parent.spanId])
  const call = children.find(({ name }) => name === EXPAND)
  equal(
    namesOf(children).filter((name) => name !== 'POST events'),
    [
      'wait in queue',
      'PATCH persistentvolumeclaims/status',
      EXPAND,
      'PATCH persistentvolumes',
      'PATCH persistentvolumeclaims/status',
    ],
  )
  equal(driver.callsOf('ControllerExpandVolume')[0]?.metadata['traceparent'], call && traceparentOf(call))
})

for (const protocol of LONG ? ['http/protobuf', 'http/json'] : []) {
  test(`an OpenTelemetry Collector receives all spans by ${protocol}`, { only: 'ours', target: 'real' }, async (t) => {
    // The test does not depend on the API server, so it runs with one API server only.
    const port = await freePort()
    const collector = await startCollector(port)
    try {
      const env = exportTo(`http://127.0.0.1:${port}`, {
        OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      })
      await exported(t, env, collector)
    } finally {
      await collector.stop()
    }
  })
}

interface Collector {
  /** Returns the output of the collector so far. */
  readonly output: () => string
  readonly stop: () => Promise<unknown>
}

async function startCollector(port: number): Promise<Collector> {
  const binary = goProgram(resolve(import.meta.dirname, '../../../..'), 'otel-collector')
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { debug: { verbosity: 'detailed', use_internal_logger: false } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['debug'] } },
    },
  }
  const child = start(binary, [`--config=yaml:${JSON.stringify(config)}`], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = textOf(child.stdout, child.stderr)
  await eventually('a collector that is ready', () => output().includes('Everything is ready'))
  return { output, stop: () => stop(child) }
}

async function exported(t: TestContext, env: NodeJS.ProcessEnv, { output }: Collector): Promise<void> {
  const at = await scene(t, { args: [TRACING], env })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth === 0 ? { code: 13, message: 'no such array' } : { reply: { publishContext: {} } },
  )
  await attachAndWait(t, at)
  // The span of a run is exported after its child spans, so all spans of both runs have arrived.
  await eventually('both runs', () => count(output(), / Name +: attach\n/g) === 2)
  const metrics = await at.attacher.http('/metrics')
  equal(/^csi_sidecar_spans_dropped_total/m.test(metrics.text), false)
  const exported = Number(/^csi_sidecar_spans_exported_total (\d+)$/m.exec(metrics.text)?.[1])
  equal(count(output(), /^Span #\d+$/gm), exported)
  ok(output().includes(`service.name: Str(${basename(t.executable())})`), output())
  ok(output().includes(`k8s.volumeattachment.name: Str(${t.name('va')})`), output())
  ok(/Status message *: .*no such array/.test(output()), output())
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}

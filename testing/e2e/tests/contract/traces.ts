import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { OtlpReceiver } from '@csi-sidecars/telemetry/testing'
import { codeBlocks } from '../../../../tools/docs/documents.ts'
import { assertContains } from '../../harness/process/log-lines.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attachAll, attachAndWait, attachFailed, scene } from '../attacher/scene.ts'
import {
  drawn,
  exportTo,
  namesOf,
  TRACING,
  traceOf,
  traceparentOf,
  traceparentsOf,
  withCollector,
} from './traces-scene.ts'

const test = testsOf('attacher', 'traces')
/** The originals have no tracing. */
const OURS = { only: 'ours' } as const
const PUBLISH = 'csi.v1.Controller/ControllerPublishVolume'

test('an attach is one trace, which continues in the API server and in the driver', OURS, (t) =>
  withCollector(async (collector) => {
    const secretRef = await t.createSecret({ password: 'canary-password' })
    const env = exportTo(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-token' })
    const at = await scene(t, { args: [TRACING], env })
    await attachAndWait(t, at, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
    const { root, parts } = await traceOf(collector, 'attach')
    equal(namesOf(parts), [
      'wait in queue',
      'PATCH persistentvolumes',
      'GET secrets',
      'PATCH volumeattachments',
      PUBLISH,
      'PATCH volumeattachments/status',
    ])
    ok(parts.every(({ traceId }) => traceId === root.traceId))
    const names = { 'k8s.volumeattachment.name': t.name('va'), 'k8s.node.name': at.node }
    equal(root.attributes, {
      'csi.driver.name': t.driverName,
      'k8s.persistentvolume.name': t.name('pv'),
      ...names,
      'csi.sidecar.outcome': 'settled',
    })
    const [call] = at.driver.callsOf('ControllerPublishVolume')
    equal(call?.metadata['traceparent'], parts.filter(({ name }) => name === PUBLISH).map(traceparentOf)[0])
    const patches = parts.filter(({ name }) => name.startsWith('PATCH'))
    equal(traceparentsOf(at.attacher.gate.requests, 'PATCH'), patches.map(traceparentOf))
    equal(root.resource['service.name'], basename(t.executable()))
    equal(collector.requests[0]?.authorization, 'Bearer canary-token')
    const all = JSON.stringify(collector.spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    ok(!/canary/.test(all), 'no secret value in a span')
    ok(!/canary/.test(at.attacher.stderr), 'nor in a line')
  }),
)

test('the documentation shows the trace of an attach as it is', OURS, (t) =>
  withCollector(async (collector) => {
    const at = await scene(t, { args: [TRACING], env: exportTo(collector.url) })
    at.driver.on('ControllerPublishVolume', { reply: { publishContext: {} }, after: 40 })
    await attachAndWait(t, at)
    const picture = drawn(await traceOf(collector, 'attach'))
    writeFileSync(join(t.folder, 'trace.txt'), picture)
    const page = readFileSync(resolve(import.meta.dirname, '../../../../docs/reference.md'), 'utf8')
    const shown = codeBlocks(page).find(({ text }) => text.startsWith('attach  '))?.text ?? ''
    const names = (text: string): string[] =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.slice(0, 46).trimEnd())
    equal(names(shown), names(picture), picture)
  }),
)

test('one grep for the trace’s id finds every step of an attach', OURS, (t) =>
  withCollector(async (collector) => {
    const at = await scene(t, { args: [TRACING, '-v=5'], env: exportTo(collector.url) })
    await attachAndWait(t, at)
    const { root } = await traceOf(collector, 'attach')
    const messages = at.attacher.linesWith(`traceID="${root.traceId}"`).map((line) => /\] "([^"]*)"/.exec(line)?.[1])
    const steps = ['Attaching', 'GRPC call', 'GRPC response', 'Attached', 'Fully attached']
    equal(
      messages.filter((message) => steps.includes(message ?? '')),
      steps,
    )
    const others = at.attacher
      .linesWith(`VolumeAttachment="${t.name('va')}"`)
      .filter((line) => !line.includes('Ignoring'))
    for (const line of others) match(line, / traceID="[0-9a-f]{32}"$/)
  }),
)

test('a failed attach records the reason in its trace, and its retry is another trace', OURS, (t) =>
  withCollector(async (collector) => {
    const at = await scene(t, { args: [TRACING, '--retry-interval-start=50ms'], env: exportTo(collector.url) })
    at.driver.on('ControllerPublishVolume', (_, nth) =>
      nth === 0 ? { code: 13, message: 'no such array' } : { reply: { publishContext: {} } },
    )
    await attachAndWait(t, at)
    const runs = await eventually('two runs', () => {
      const found = collector.spans.filter(({ name }) => name === 'attach')
      return found.length === 2 ? found : undefined
    })
    const [failed, succeeded] = runs
    equal([failed?.statusCode, succeeded?.statusCode], [2, 0])
    match(failed?.statusMessage ?? '', /no such array/)
    ok(failed?.traceId !== succeeded?.traceId)
    const [first] = collector.spans.filter(({ name }) => name === PUBLISH)
    equal([first?.attributes['rpc.grpc.status_code'], first?.statusCode], [13, 2])
  }),
)

test('an annotation traceparent is the parent of all runs over its attachment', OURS, (t) =>
  withCollector(async (collector) => {
    const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
    const annotations = { traceparent: `00-${parent.traceId}-${parent.spanId}-01` }
    const at = await scene(t, { args: [TRACING], env: exportTo(collector.url) })
    const { va } = await attachAndWait(t, at, { va: { metadata: { annotations } } })
    await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
    for (const operation of ['attach', 'detach']) {
      const { root } = await traceOf(collector, operation)
      equal([root.traceId, root.parentSpanId], [parent.traceId, parent.spanId])
    }
  }),
)

test('spans are exported as compressed JSON, to a collector behind TLS and a path of its own', OURS, async (t) => {
  const { cert, key } = t.cluster.certificate
  const ca = join(t.folder, 'ca.crt')
  writeFileSync(ca, cert)
  const collector = new OtlpReceiver({ path: '/otlp/v1/traces', tls: { cert, key } })
  await withCollector(async () => {
    const env = exportTo(`${collector.url}/otlp`, {
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_EXPORTER_OTLP_CERTIFICATE: ca,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=te%20st',
      OTEL_SERVICE_NAME: 'storage',
    })
    const at = await scene(t, { args: [TRACING], env })
    await attachAndWait(t, at)
    const { root } = await traceOf(collector, 'attach')
    equal([root.resource['service.name'], root.resource['deployment.environment']], ['storage', 'te st'])
    const { 'content-type': type, 'content-encoding': encoding } = collector.requests[0] ?? {}
    equal([type, encoding], ['application/json', 'gzip'])
  }, collector)
})

test('an unreachable collector delays no attach, and dropped spans are counted', OURS, async (t) => {
  const env = exportTo('http://127.0.0.1:1', { OTEL_BSP_MAX_QUEUE_SIZE: '3' })
  const at = await scene(t, { args: [TRACING], env })
  await attachAll(t, at, ['-1', '-2', '-3'])
  const { text } = await at.attacher.http('/metrics')
  const dropped = /csi_sidecar_spans_dropped_total\{reason="queue_full"\} (\d+)/.exec(text)?.[1]
  ok(Number(dropped) > 0, text)
  await at.attacher.line('"Spans could not be exported"')
  const asked = Date.now()
  equal((await at.attacher.endBy('SIGTERM')).code, 0)
  ok(Date.now() - asked < 2_000, 'the end waits for no collector that is known to fail')
})

test('buffered spans are exported when the sidecar ends', OURS, (t) =>
  withCollector(async (collector) => {
    const env = exportTo(collector.url, { OTEL_BSP_SCHEDULE_DELAY: '600000' })
    const at = await scene(t, { args: [TRACING], env })
    await attachAndWait(t, at)
    await at.attacher.line('finished processing')
    equal(collector.spans.length, 0)
    equal((await at.attacher.endBy('SIGTERM')).code, 0)
    ok(namesOf(collector.spans).includes('attach'), 'the trace has arrived')
  }),
)

const UNREADABLE: readonly (readonly [variable: string, value: string])[] = [
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'collector:4317'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
]

test('an unsupported variable is named in one line, tracing is off, and work continues', OURS, async (t) => {
  for (const [variable, value] of UNREADABLE) {
    const sidecar = await t.sidecar({ driver: await t.driver(), args: [TRACING], env: { [variable]: value } })
    await sidecar.line('"Starting CSI attacher"')
    const lines = sidecar.linesWith('"Tracing is off"')
    equal(lines.length, 1)
    assertContains(lines[0], `variable="${variable}"`)
    await sidecar.endBy('SIGTERM')
  }
})

test('without tracing the lines of a run share an id that no other process receives', OURS, async (t) => {
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

test('below level 4 the lines of the text format are those of the original', OURS, (t) =>
  withCollector(async (collector) => {
    const at = await scene(t, { args: [TRACING, '-v=2'], env: exportTo(collector.url) })
    await attachAndWait(t, at)
    await traceOf(collector, 'attach')
    ok((await at.attacher.line('"Attached"')).endsWith(`"Attached" VolumeAttachment="${t.name('va')}"`))
  }),
)

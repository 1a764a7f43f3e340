import { deepStrictEqual as equal, ok } from 'node:assert'
import { existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { TestContext } from '../../harness/context.ts'
import { LONG } from '../../harness/long.ts'
import { start, stop, textOf } from '../../harness/process/processes.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { cacheFolder } from '../../tools/binaries.ts'
import { attachAndWait, scene } from '../attacher/scene.ts'
import { exportTo, TRACING } from './traces-scene.ts'

/** The OpenTelemetry Collector itself takes the traces, in both encodings. */

const test = testsOf('attacher', 'traces')

for (const protocol of LONG ? ['http/protobuf', 'http/json'] : []) {
  test(`a real collector reads every span, by ${protocol}`, { only: 'ours', target: 'real' }, async (t) => {
    // It is about the collector: one server is enough, and the originals have no traces.
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
  const binary = join(cacheFolder(resolve(import.meta.dirname, '../../../..')), 'otel-collector')
  if (!existsSync(binary)) throw new Error(`${binary} is missing: it is built where Go is installed`)
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
  // The end of the second run, and nothing of it is missing before.
  await eventually('both runs', () => count(output(), / Name +: attach\n/g) === 2)
  const metrics = await at.attacher.http('/metrics')
  equal(/^csi_sidecar_spans_dropped_total/m.test(metrics.text), false)
  const exported = Number(/^csi_sidecar_spans_exported_total (\d+)$/m.exec(metrics.text)?.[1])
  equal(count(output(), /^Span #\d+$/gm), exported)
  ok(output().includes(`service.name: Str(${basename(t.executable())})`), output())
  ok(output().includes(`k8s.volumeattachment.name: Str(${t.name('va')})`), output())
  ok(/Status message *: .*no such array/.test(output()), output())
}

function count(text: string, what: RegExp): number {
  return [...text.matchAll(what)].length
}

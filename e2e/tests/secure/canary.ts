import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { freePort } from '@csi-sidecars/emulator'
import { EVENTS, SECRETS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { secret } from '../../harness/api/objects.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attached, scene as attacherScene } from '../attacher/scene.ts'
import { exportTo, TRACING, traceOf, withCollector } from '../contract/traces-scene.ts'
import { ask, bound, resized, scene as resizerScene } from '../resizer/scene.ts'

const GIB = 1024n ** 3n
const PASSWORD = 'canary-password'
const HEADER = 'canary-header'

interface Work {
  /** Whose requests have the secret. */
  readonly method: string
  /** The name of its spans. */
  readonly operation: string
  readonly reply: object
  start(t: TestContext, setup: SidecarSetup, ref: SecretRef): Promise<{ sidecar: RunningSidecar; driver: Driver }>
  finished(t: TestContext): Promise<unknown>
}

interface SecretRef {
  readonly name: string
  readonly namespace: string
}

function failing({ method }: Work): (driver: Driver) => void {
  // It repeats its input.
  return (driver) => driver.on(method, { code: 13, message: `no array for ${PASSWORD}` })
}

const ATTACH: Work = {
  method: 'ControllerPublishVolume',
  operation: 'attach',
  reply: { publishContext: {} },
  async start(t, setup, controllerPublishSecretRef) {
    const at = await attacherScene(t, { role: 'both', prepare: failing(this), ...setup })
    await attach(t, at, { pv: { csi: { controllerPublishSecretRef } } })
    return { sidecar: at.attacher, driver: at.driver }
  },
  finished: (t) => attached(t),
}

const DETACH: Work = {
  method: 'ControllerUnpublishVolume',
  operation: 'detach',
  reply: {},
  async start(t, setup, controllerPublishSecretRef) {
    const at = await attacherScene(t, { role: 'both', prepare: failing(this), ...setup })
    const { va } = await attach(t, at, { pv: { csi: { controllerPublishSecretRef } } })
    await attached(t)
    await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
    return { sidecar: at.attacher, driver: at.driver }
  },
  finished: (t) => t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va') }),
}

const EXPAND: Work = {
  method: 'ControllerExpandVolume',
  operation: 'expand',
  reply: { capacityBytes: 2n * GIB, nodeExpansionRequired: false },
  async start(t, setup, controllerExpandSecretRef) {
    const { driver, resizer } = await resizerScene(t, { prepare: failing(this), ...setup })
    await bound(t, { pv: { csi: { controllerExpandSecretRef } } })
    await ask(t, '2Gi')
    return { sidecar: resizer, driver }
  },
  finished: (t) => resized(t, '2Gi'),
}

const TESTS = { attacher: [ATTACH, DETACH], resizer: [EXPAND] } as const

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'no secret in logs')
  for (const work of TESTS[app]) {
    test(
      `the secret of ${work.method} is in no line, event, metric, span, profile, nor the stuck list`,
      { only: 'ours' },
      (t) =>
        withCollector(async (collector) => {
          const name = t.name('secret')
          await t.create(SECRETS, secret('default', name, { password: PASSWORD }))
          const profiling = await freePort()
          const args = [
            '-v=10',
            TRACING,
            '--enable-profiling',
            `--profiling-address=127.0.0.1:${profiling}`,
            '--retry-interval-start=1s',
            '--retry-interval-max=1s',
            '--log-backlog-interval=1s',
          ]
          const env = exportTo(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${HEADER}` })
          const { sidecar, driver } = await work.start(t, { args, env }, { name, namespace: 'default' })
          const profile = textAt(`http://127.0.0.1:${profiling}/debug/profile?seconds=2`)
          const list = await eventually('the stuck list', async () => {
            const { text } = await sidecar.http('/debug/stuck')
            return text.includes('no array for') ? text : undefined
          })
          // The attacher reports what has failed for ten seconds.
          const events = await eventually('an event', () => eventsOf(t), { within: 30_000 })
          driver.on(work.method, { reply: work.reply })
          await work.finished(t)
          await traceOf(collector, work.operation, `csi.v1.Controller/${work.method}`)
          await sidecar.line('"Work is waiting"')
          equal(driver.callsOf(work.method)[0]?.request['secrets'], { password: PASSWORD })
          const spans = JSON.stringify(collector.spans, (_, value) =>
            typeof value === 'bigint' ? String(value) : value,
          )
          match(await profile, /"nodes":\[/)
          const outputs = {
            lines: sidecar.stderr,
            list,
            events,
            spans,
            metrics: (await sidecar.http('/metrics')).text,
            profile: await profile,
            heap: await textAt(`http://127.0.0.1:${profiling}/debug/heap`),
          }
          const secrets = [PASSWORD, Buffer.from(PASSWORD).toString('base64'), HEADER]
          for (const [where, text] of Object.entries(outputs)) {
            ok(text.length > 0)
            for (const each of secrets) ok(!text.includes(each), `${each} in ${where}`)
          }
        }),
    )
  }
}

/** All events about the test's objects, once there is one. */
async function eventsOf(t: TestContext): Promise<string | undefined> {
  const all = await t.api.list(EVENTS, 'default')
  const own = all.filter(({ involvedObject }) => involvedObject.name?.startsWith(`${t.id}-`))
  return own.length > 0 ? JSON.stringify(own) : undefined
}

async function textAt(url: string): Promise<string> {
  return (await fetch(url)).text()
}

import { deepStrictEqual as equal, ok } from 'node:assert'
import { EVENTS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { exportTo, TRACING, traceOf, withCollector } from '../contract/traces-scene.ts'
import { begin, done, scene } from '../work.ts'

const PASSWORD = 'canary-password'
const HEADER = 'canary-header'

/** The calls that may have a secret, and the names of their spans. */
const CALLS = {
  attacher: { ControllerPublishVolume: 'attach', ControllerUnpublishVolume: 'detach' },
  resizer: { ControllerExpandVolume: 'expand' },
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'no secret in logs')
  for (const [method, operation] of Object.entries(CALLS[app])) {
    test(`the secret of ${method} is in no line, event, metric, span, nor the stuck list`, { only: 'ours' }, (t) =>
      withCollector(async (collector) => {
        const secret = await t.createSecret({ password: PASSWORD })
        const args = [
          '-v=10',
          TRACING,
          '--retry-interval-start=1s',
          '--retry-interval-max=1s',
          '--log-backlog-interval=1s',
        ]
        const env = exportTo(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${HEADER}` })
        // It repeats its input.
        const prepare = (each: Driver): void => each.on(method, { code: 13, message: `no array for ${PASSWORD}` })
        const { sidecar, driver } = await scene(t, { role: 'both', prepare, args, env })
        await begin(t, { secret })
        if (operation === 'detach') {
          await done(t)
          await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name('va') })
        }
        const list = await eventually('the stuck list', async () => {
          const { text } = await sidecar.http('/debug/stuck')
          return text.includes('no array for') ? text : undefined
        })
        // The attacher reports what has failed for ten seconds.
        const events = await eventually('an event', () => eventsOf(t), { within: 30_000 })
        driver.on(method, { reply: {} })
        await (operation === 'detach' ? t.api.untilGone(VOLUME_ATTACHMENTS, { name: t.name('va') }) : done(t))
        await traceOf(collector, operation, `csi.v1.Controller/${method}`)
        await sidecar.line('"Work is waiting"')
        equal(driver.callsOf(method)[0]?.request['secrets'], { password: PASSWORD })
        const spans = JSON.stringify(collector.spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))
        const outputs = {
          lines: sidecar.stderr,
          list,
          events,
          spans,
          metrics: (await sidecar.http('/metrics')).text,
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

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENTS, type PolicyRule, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { type Issued, makeAuthority } from '@csi-sidecars/testkit'
import type { User } from '../../harness/api/cluster.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { FakeDriver } from '../../harness/driver/driver.ts'
import { start, stop, textOf } from '../../harness/process/processes.ts'
import { Scraper, shownAt } from '../../harness/process/scraper.ts'
import { sharingCode, testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually, repeat } from '../../harness/waiting.ts'
import { begin, done, scene } from '../../rows/work.ts'
import { collecting, exportTo, TRACING, traceOf } from '../contract/traces.ts'

/** The RBAC rules that the chart grants for `--authorize-metrics`. */
const REVIEWS: readonly PolicyRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
]

/** Certificate files that a sidecar reads and a test replaces. */
interface Files {
  readonly args: readonly string[]
  pair(pair: Issued): void
  ca(text: string): void
}

export function files(t: TestContext, pair: Issued, ca?: string): Files {
  const write = (name: string, text: string): string => {
    const file = join(t.folder, name)
    writeFileSync(file, text)
    return file
  }
  const writePair = ({ cert, key }: Issued): string[] => [
    `--tls-cert-file=${write('tls.crt', cert)}`,
    `--tls-private-key-file=${write('tls.key', key)}`,
  ]
  return {
    args: [...writePair(pair), ...(ca === undefined ? [] : [`--client-ca-file=${write('client-ca.crt', ca)}`])],
    pair: (another) => void writePair(another),
    ca: (text) => void write('client-ca.crt', text),
  }
}

/** Starts a sidecar whose HTTP endpoint uses TLS. */
async function secured(
  t: TestContext,
  args: readonly string[],
  setup: Partial<SidecarSetup> = {},
): Promise<RunningSidecar> {
  const driver = setup.driver ?? (await t.fullDriver())
  const sidecar = await t.sidecar({ ...setup, driver, args })
  const probe = new Scraper({ port: sidecar.port })
  await eventually('an HTTPS server', async () => (await probe.code('/readyz')) === 200)
  return sidecar
}

/** Creates a user for a sidecar. The user may also create TokenReviews and SubjectAccessReviews. */
export function reviewer(t: TestContext): Promise<User> {
  return userWith(t, [...FACTS[t.app].rules, ...REVIEWS], 'reviewer')
}

const ca = makeAuthority('ca')
const CROWD = join(import.meta.dirname, '../../harness/process/crowd.ts')

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'endpoint TLS', { ...WITHOUT_API, only: 'ours' })

  test('no scrape of the metrics fails while certificates are rotated', { within: 120_000 }, async (t) => {
    const other = makeAuthority('other')
    const at = files(t, ca.server('first'), ca.cert)
    const sidecar = await secured(t, at.args)
    const client = ca.client('/O=ops/CN=scraper')
    const wrong: string[] = []
    let scrapes = 0
    let over = false
    const loads = [true, false].map(async (kept) => {
      const scraper = new Scraper({ port: sidecar.port, ca: ca.cert + other.cert, client, kept })
      await repeat(5, async () => {
        scrapes += 1
        await scraper.get('/metrics').then(
          ({ code }) => code === 200 || wrong.push(`${code}`),
          (error: unknown) => wrong.push(String(error)),
        )
        return !over
      })
    })
    const shows = (name: string) =>
      eventually(`certificate ${name}`, async () => (await shownAt(sidecar.port)) === name)
    at.pair(ca.server('second'))
    await shows('second')
    at.pair({ cert: ca.server('third').cert, key: ca.server('fourth').key })
    await sidecar.line('"Failed to load the cert/key pair, the one before stays"')
    at.ca(ca.cert + other.cert)
    await sidecar.line('"Loaded a new CA Bundle and Verifier"')
    equal(await shownAt(sidecar.port), 'second')
    at.pair(other.server('fifth'))
    await shows('fifth')
    over = true
    await Promise.all(loads)
    equal(wrong, [])
    ok(scrapes > 20, `${scrapes}`)
    equal(sidecar.linesWith('the one before stays').length, 1)
    match(sidecar.linesWith('the one before stays')[0] ?? '', /err="tls: private key does not match public key"$/)
    at.ca(other.cert)
    await eventually('the refusal of the old authority', async () => {
      return (await new Scraper({ port: sidecar.port, client }).code('/metrics')) === 401
    })
    const newcomer = new Scraper({ port: sidecar.port, client: other.client('/CN=scraper') })
    equal(await newcomer.code('/metrics'), 200)
    equal(await newcomer.code('/livez'), 200)
  })

  test('the sidecar answers probes while 300 clients keep TLS connections open', async (t) => {
    const { port } = await secured(t, files(t, ca.server('endpoint')).args)
    const crowd = start(process.execPath, [CROWD, 'tls', `${port}`, '300'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const crowdText = textOf(crowd.stdout)
    try {
      await eventually('the end of handshakes that never end', () => crowdText() === 'over\n', { within: 20_000 })
      const probe = new Scraper({ port })
      await eventually('an answer beside the crowd', async () => (await probe.code('/livez')) === 200, {
        within: 20_000,
      })
    } finally {
      await stop(crowd)
    }
  })
}

const MAY_SCRAPE = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'endpoint authorization', { only: 'ours' })

  test('with --authorize-metrics, /metrics needs a token with permission, and probes need no token', async (t) => {
    const sidecar = await secured(t, ['--tls-self-signed', '--authorize-metrics'], { user: await reviewer(t) })
    const { port } = sidecar
    const prometheus = new Scraper({ port, token: (await userWith(t, MAY_SCRAPE)).token })
    equal(await new Scraper({ port }).code('/metrics'), 401)
    equal(await new Scraper({ port, token: 'canary-of-no-user' }).code('/metrics'), 401)
    const { code, text } = await new Scraper({ port, token: t.cluster.alice.token }).get('/metrics')
    equal([code, text], [403, 'Forbidden: User "alice" cannot get path "/metrics"\n'])
    await eventually('a scrape', async () => (await prometheus.code('/metrics')) === 200)
    equal(await prometheus.code('/debug/stuck'), 403)
    equal(await new Scraper({ port }).code('/livez'), 200)
    ok(!sidecar.stderr.includes('canary-of-no-user'))
    ok(!sidecar.stderr.includes(t.cluster.alice.token))
  })
}

const PASSWORD = 'canary-password'
const HEADER = 'canary-header'

/** The calls that may contain a secret, with the names of their spans. */
const CALLS = {
  attacher: { ControllerPublishVolume: 'attach', ControllerUnpublishVolume: 'detach' },
  resizer: { ControllerExpandVolume: 'expand' },
}

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'no secret in logs')
  for (const [method, operation] of Object.entries(CALLS[app])) {
    test(`the secret of ${method} is in no log line, event, metric, span or report`, { only: 'ours' }, async (t) => {
      await using traces = await collecting()
      const { collector } = traces
      const secret = await t.createSecret({ password: PASSWORD })
      const args = [
        '-v=10',
        TRACING,
        '--retry-interval-start=1s',
        '--retry-interval-max=1s',
        '--log-backlog-interval=1s',
      ]
      const env = exportTo(collector.url, { OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${HEADER}` })
      // The driver repeats the Secret in its error message.
      const prepare = (each: FakeDriver): void => each.on(method, { code: 13, message: `no array for ${PASSWORD}` })
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
      // The wait is long, because the attacher records an event only after an attach has failed for ten seconds.
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
    })
  }
}

/** Returns all events about the test's objects as text, or undefined if there are none. */
async function eventsOf(t: TestContext): Promise<string | undefined> {
  const all = await t.api.list(EVENTS, 'default')
  const ofThisTest = all.filter(({ involvedObject }) => involvedObject.name?.startsWith(`${t.id}-`))
  return ofThisTest.length > 0 ? JSON.stringify(ofThisTest) : undefined
}

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { makeAuthority } from '@csi-sidecars/testkit'
import { tooMany } from '../../harness/api/gate.ts'
import { userWith } from '../../harness/api/user.ts'
import { Scraper } from '../../harness/process/scraper.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { files, reviewer, secured } from './scene.ts'

const ca = makeAuthority('ca')
const MAY_SCRAPE = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'endpoint authorization', { only: 'ours' })

  test('no token 401, no permission 403, permission 200; probes need none', async (t) => {
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

  test('the API server is unreachable: probes are answered, metrics are 503, and it recovers', async (t) => {
    const sidecar = await secured(t, ['--tls-self-signed', '--authorize-metrics'], { user: await reviewer(t) })
    const { port, gate } = sidecar
    const prometheus = new Scraper({ port, token: (await userWith(t, MAY_SCRAPE)).token })
    await gate.close()
    for (let scrapes = 0; scrapes < 3; scrapes += 1) equal(await prometheus.code('/metrics'), 503)
    const { code, tookMs } = await new Scraper({ port }).get('/livez')
    equal(code, 200)
    ok(tookMs < 1000, `${tookMs} ms`)
    equal(sidecar.linesWith('"Requests to the HTTP endpoint cannot be reviewed"').length, 1)
    await gate.open()
    await eventually('a scrape', async () => (await prometheus.code('/metrics')) === 200)
  })

  test('without permission for reviews: 503, and the line names the permission', async (t) => {
    const sidecar = await secured(t, ['--tls-self-signed', '--authorize-metrics'])
    const { token } = t.cluster.alice
    equal(await new Scraper({ port: sidecar.port, token }).code('/metrics'), 503)
    match(await sidecar.line('cannot be reviewed'), /cannot create resource \\"tokenreviews\\"/)
  })

  test('a review that is refused with 429 is no answer', async (t) => {
    const sidecar = await secured(t, ['--tls-self-signed', '--authorize-metrics'], { user: await reviewer(t) })
    sidecar.gate.inject('POST tokenreviews', tooMany(30))
    equal(await new Scraper({ port: sidecar.port, token: 'x' }).code('/metrics'), 503)
  })

  test('a client certificate is a user of the cluster', async (t) => {
    const args = [...files(t, ca.server('endpoint'), ca.cert).args, '--authorize-metrics']
    const { port } = await secured(t, args, { user: await reviewer(t) })
    const user = await userWith(t, MAY_SCRAPE)
    const scraper = new Scraper({ port, client: ca.client(`/CN=${user.name}`) })
    await eventually('a scrape', async () => (await scraper.code('/metrics')) === 200)
    equal(await new Scraper({ port, client: ca.client('/CN=alice') }).code('/metrics'), 403)
    equal(await new Scraper({ port, client: ca.client('/O=system:masters/CN=any') }).code('/debug/stuck'), 200)
    equal(await new Scraper({ port, client: ca.client('/O=system:masters/CN=any') }).code('/nothing'), 404)
    equal(await new Scraper({ port }).code('/metrics'), 401)
  })
}

import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { makeAuthority } from '@csi-sidecars/testkit'
import { start, stop, textOf } from '../../harness/process/processes.ts'
import { Scraper, shownAt } from '../../harness/process/scraper.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { files, refusedIn, secured } from './scene.ts'

const ca = makeAuthority('ca')
const CROWD = join(import.meta.dirname, '../../harness/process/tls-connections.ts')

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'endpoint TLS', { ...WITHOUT_API, only: 'ours' })

  test('metrics and probes over HTTPS, and nothing over HTTP', async (t) => {
    const sidecar = await secured(t, files(t, ca.server('endpoint')).args)
    const scraper = new Scraper({ port: sidecar.port, ca: ca.cert })
    const { code, text } = await scraper.get('/metrics')
    equal(code, 200)
    match(text, /^# HELP/)
    equal((await scraper.get('/livez')).text, 'ok')
    const plain = await sidecar.http('/livez').then(
      ({ code: answered }) => answered,
      () => 'no answer',
    )
    equal(plain, 'no answer')
    equal(sidecar.exit, undefined)
  })

  test('CBC suites of TLS 1.2 are there only if the flag asks for them', async (t) => {
    const { args } = files(t, ca.server('endpoint'))
    const usual = await secured(t, args)
    equal(await offered(usual.port, CBC), 'refused')
    equal(await offered(usual.port, 'ECDHE-ECDSA-AES128-GCM-SHA256'), 'ECDHE-ECDSA-AES128-GCM-SHA256')
    const asked = await secured(t, [...args, '--tls-cipher-suites=ECDHE-ECDSA-AES128-SHA'])
    equal(await offered(asked.port, CBC), CBC)
  })

  test('a certificate of its own', async (t) => {
    const sidecar = await secured(t, ['--tls-self-signed'], { hostname: 'host-of-the-test' })
    equal(await shownAt(sidecar.port), 'host-of-the-test')
    equal(await new Scraper({ port: sidecar.port }).code('/metrics'), 200)
  })

  test('certificates rotated under load: no scrape fails', {
    within: 120_000,
  }, async (t) => {
    const other = makeAuthority('other')
    const at = files(t, ca.server('first'), ca.cert)
    const sidecar = await secured(t, at.args)
    const client = ca.client('/O=ops/CN=scraper')
    const wrong: string[] = []
    let scrapes = 0
    let over = false
    const loads = [true, false].map(async (kept) => {
      const scraper = new Scraper({ port: sidecar.port, ca: ca.cert + other.cert, client, kept })
      while (!over) {
        scrapes += 1
        await scraper.get('/metrics').then(
          ({ code }) => code === 200 || wrong.push(`${code}`),
          (error: unknown) => wrong.push(String(error)),
        )
        await pause(5)
      }
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
    ok(scrapes > 100, `${scrapes}`)
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

  test('300 clients with endless handshakes or open connections lose the port within seconds', {
    alone: true,
  }, async (t) => {
    const { port } = await secured(t, files(t, ca.server('endpoint')).args)
    const crowd = start(process.execPath, [CROWD, `${port}`, '300'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const said = textOf(crowd.stdout)
    try {
      await eventually('the end of handshakes that never end', () => said() === 'over\n', { within: 20_000 })
      const probe = new Scraper({ port })
      await eventually('an answer beside the crowd', async () => (await probe.code('/livez')) === 200, {
        within: 20_000,
      })
    } finally {
      await stop(crowd)
    }
  })
}

const CBC = 'ECDHE-ECDSA-AES128-SHA'

/** The suite of a handshake with TLS 1.2 that offers only these. */
function offered(port: number | undefined, ciphers: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, ciphers, maxVersion: 'TLSv1.2', rejectUnauthorized: false } as const
    const socket = connect(options, () => {
      resolve(socket.getCipher().name)
      socket.destroy()
    })
    socket.on('error', () => resolve('refused'))
  })
}

const PAIR = ['--tls-cert-file=tls.crt', '--tls-private-key-file=tls.key']
const REFUSED: readonly (readonly [args: readonly string[], err: string])[] = [
  [['--http-endpoint=:0', '--tls-cert-file=tls.crt'], '--tls-cert-file needs --tls-private-key-file'],
  [['--http-endpoint=:0', '--tls-private-key-file=tls.key'], '--tls-private-key-file needs --tls-cert-file'],
  [PAIR, '--tls-cert-file needs --http-endpoint'],
  [['--authorize-metrics'], '--authorize-metrics needs --http-endpoint'],
  [
    ['--http-endpoint=:0', ...PAIR, '--tls-min-version=VersionTLS9'],
    'unknown tls version \\"VersionTLS9\\": --tls-min-version is VersionTLS12 or VersionTLS13',
  ],
  [
    ['--http-endpoint=:0', ...PAIR, '--tls-cipher-suites=TLS_NOPE'],
    "Cipher suite TLS_NOPE not supported or doesn't exist",
  ],
  [['--http-endpoint=:0', ...PAIR], 'tls: private key does not match public key'],
  [
    ['--http-endpoint=:0', '--tls-self-signed', '--client-ca-file=none.crt'],
    "ENOENT: no such file or directory, open 'none.crt'",
  ],
]

for (const app of ['attacher', 'resizer'] as const) {
  testsOf(app, 'endpoint TLS', WITHOUT_API)('invalid flags: one line, exit 1', { only: 'ours' }, async (t) => {
    files(t, { cert: ca.server('a').cert, key: ca.server('b').key })
    for (const [args, err] of REFUSED) {
      const error = await refusedIn(t, [...args, '--kubeconfig=/nonexistent'])
      ok(error.endsWith(`"Secure serving configuration is invalid" err="${err}"`), error)
    }
  })
}

import { deepStrictEqual as equal, ok } from 'node:assert'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from '../../harness/context.ts'
import { type Listening, listen } from '../../harness/listen.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { reading, works } from './cluster-config-scene.ts'

/** Starts an HTTP proxy that tunnels. `asked` lists the requested targets. */
async function tunnel(): Promise<Listening & { readonly url: string; readonly asked: readonly string[] }> {
  const asked: string[] = []
  const server = createServer((_, response) => response.writeHead(400).end())
  server.on('connect', ({ url = '' }, socket) => {
    asked.push(url)
    const [host = '', port = ''] = url.split(':')
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(socket).pipe(upstream)
    })
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  const listening = await listen(server)
  return { ...listening, url: `http://127.0.0.1:${listening.port}`, asked }
}

/** A plugin for credentials, which runs this in a shell. */
function plugin(t: TestContext, text: string): object {
  const file = join(t.folder, 'plugin.sh')
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
  return { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin.sh', interactiveMode: 'Never' }
}

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'cluster configuration')

  test('an authority and a token in files, relative to the kubeconfig', async (t) => {
    const sidecar = await reading(t, ({ cluster, user }) => {
      const { token } = user
      delete cluster['certificate-authority-data']
      cluster['certificate-authority'] = 'ca.pem'
      writeFileSync(join(t.folder, 'ca.pem'), t.cluster.certificate.cert)
      delete user['token']
      user['tokenFile'] = 'token.txt'
      writeFileSync(join(t.folder, 'token.txt'), `${token}\n`)
    })
    await works(t, sidecar)
  })

  test('insecure-skip-tls-verify', async (t) => {
    const sidecar = await reading(t, ({ cluster }) => {
      delete cluster['certificate-authority-data']
      cluster['insecure-skip-tls-verify'] = true
    })
    await works(t, sidecar)
  })

  test('tls-server-name', async (t) => {
    const sidecar = await reading(t, ({ cluster }) => {
      cluster['tls-server-name'] = 'wrong.example.com'
    })
    await pause(2500)
    equal(
      sidecar.gate.requests.filter(({ resource }) => resource !== ''),
      [],
    )
    await eventually('a line about the certificate', () =>
      sidecar.lines.find((line) => /certificate|wrong\.example\.com/.test(line)),
    )
    equal(sidecar.exit, undefined)
  })

  test('an authority that is not the server’s is logged, and the process keeps running', async (t) => {
    const sidecar = await reading(t, ({ cluster }) => {
      delete cluster['certificate-authority-data']
    })
    await eventually('a line about the certificate', () => sidecar.lines.find((line) => /certificate/.test(line)))
    await pause(1000)
    equal(sidecar.exit, undefined)
  })

  test('an exec plugin gives the token', async (t) => {
    const sidecar = await reading(t, ({ user }) => {
      const status = { token: user['token'] }
      const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }
      user['exec'] = plugin(t, `cat <<'END'\n${JSON.stringify(answer)}\nEND`)
      delete user['token']
    })
    await works(t, sidecar)
  })

  test('an exec plugin that prints its bare token is logged without the token', { only: 'ours' }, async (t) => {
    const sidecar = await reading(t, ({ user }) => {
      user['exec'] = plugin(t, `echo hunter2-${user['token']}`)
      delete user['token']
    })
    await eventually('a line about the plugin', () => sidecar.lines.find((line) => line.includes('decoding stdout')))
    ok(!sidecar.lines.some((line) => line.includes('hunter2')))
  })

  test('a kubeconfig of several documents: the first one counts, as in kubectl', async (t) => {
    const sidecar = await reading(t, () => undefined, {
      around: (text) => `--- # made by hand\n${text}\n--- # another one\na: [\n`,
    })
    await works(t, sidecar)
  })

  test('proxy-url', async (t) => {
    using proxy = await tunnel()
    const sidecar = await reading(t, ({ cluster }) => {
      cluster['proxy-url'] = proxy.url
    })
    await works(t, sidecar)
    equal([...new Set(proxy.asked.map((each) => `https://${each}`))], [sidecar.gate.url])
  })

  test('a proxy that answers CONNECT with a body instead of a tunnel is named in the log', {
    only: 'ours',
  }, async (t) => {
    const server = createServer()
    server.on('connect', (_, socket) => socket.on('error', () => undefined).write('HTTP/1.1 200 OK\r\n\r\nok'))
    using proxy = await listen(server)
    const sidecar = await reading(t, ({ cluster }) => {
      cluster['proxy-url'] = `http://127.0.0.1:${proxy.port}`
    })
    await sidecar.line('proxy answered CONNECT with a body instead of a tunnel')
  })

  test('HTTPS_PROXY, and loopback is never proxied', async (t) => {
    using proxy = await tunnel()
    const env = { HTTPS_PROXY: proxy.url, https_proxy: proxy.url }
    await works(t, await reading(t, () => undefined, { env }))
    equal(proxy.asked, [])
  })

  test('the configuration in the cluster: host and port of the environment, files of the service account', {
    target: 'real',
  }, async (t) => {
    // The files are in a place that only root can create, in a namespace of its own.
    if (process.getuid?.() !== 0) return
    const driver = await t.fullDriver()
    const gate = await t.gate()
    const user = t.cluster.user(app)
    const files = join(t.folder, 'account')
    mkdirSync(files)
    writeFileSync(join(files, 'token'), `${user.token}\n`)
    writeFileSync(join(files, 'ca.crt'), t.cluster.certificate.cert)
    writeFileSync(join(files, 'namespace'), 'kube-public\n')
    const { port } = new URL(gate.url)
    const shell = `mount -t tmpfs none /run && mkdir -p /run/secrets/kubernetes.io/serviceaccount && cp ${files}/* /run/secrets/kubernetes.io/serviceaccount/ && exec "$0" "$@"`
    const sidecar = await t.sidecar({
      driver,
      gate,
      user,
      binary: 'unshare',
      bareArgs: [
        '--mount',
        'sh',
        '-c',
        shell,
        t.executable(),
        ...t.controllers(),
        `--csi-address=${driver.socket}`,
        '--leader-election',
        '-v=5',
      ],
      env: { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: port },
    })
    await works(t, sidecar)
    await eventually('a write of the lease', () => sidecar.gate.writes('leases').length > 0)
    const lease = sidecar.gate.writes('leases')[0]
    equal(lease?.namespace, 'kube-public')
    ok(sidecar.gate.requests.every(({ authorization }) => authorization === `Bearer ${user.token}`))
  })
}

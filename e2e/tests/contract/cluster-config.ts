import { deepStrictEqual as equal, ok } from 'node:assert'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { reading, works } from './cluster-config-scene.ts'

/** An HTTP proxy that tunnels, and what it was asked for. */
async function tunnel(): Promise<{ url: string; asked: string[]; server: Server }> {
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, asked, server }
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
    const line = await eventually('a line about the certificate', () =>
      sidecar.lines.find((line) => /certificate|wrong\.example\.com/.test(line)),
    )
    ok(line !== undefined)
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
      const plugin = join(t.folder, 'plugin.sh')
      const answer = {
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        status: { token: user['token'] },
      }
      writeFileSync(plugin, `#!/bin/sh\ncat <<'END'\n${JSON.stringify(answer)}\nEND\n`)
      chmodSync(plugin, 0o755)
      delete user['token']
      user['exec'] = {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: './plugin.sh',
        interactiveMode: 'Never',
      }
    })
    await works(t, sidecar)
  })

  test('an exec plugin that prints its bare token is logged, its token is not', { only: 'ours' }, async (t) => {
    const sidecar = await reading(t, ({ user }) => {
      const plugin = join(t.folder, 'plugin.sh')
      writeFileSync(plugin, `#!/bin/sh\necho hunter2-${user['token']}\n`)
      chmodSync(plugin, 0o755)
      delete user['token']
      user['exec'] = { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin.sh' }
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
    const { url, asked, server } = await tunnel()
    try {
      const sidecar = await reading(t, ({ cluster }) => {
        cluster['proxy-url'] = url
      })
      await works(t, sidecar)
      ok(asked.length > 0 && asked.every((each) => `https://${each}` === sidecar.gate.url), `${asked}`)
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })

  test('a proxy that answers CONNECT with a body instead of a tunnel is named in the log', {
    only: 'ours',
  }, async (t) => {
    const server = createServer()
    server.on('connect', (_, socket) => socket.on('error', () => undefined).write('HTTP/1.1 200 OK\r\n\r\nok'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    try {
      const { port } = server.address() as AddressInfo
      const sidecar = await reading(t, ({ cluster }) => {
        cluster['proxy-url'] = `http://127.0.0.1:${port}`
      })
      await eventually('its line', () =>
        sidecar.stderr.includes('proxy answered CONNECT with a body instead of a tunnel'),
      )
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })

  test('HTTPS_PROXY, and loopback is never proxied', async (t) => {
    const { url, asked, server } = await tunnel()
    try {
      const sidecar = await reading(t, () => undefined, { env: { HTTPS_PROXY: url, https_proxy: url } })
      await works(t, sidecar)
      equal(asked, [])
    } finally {
      server.close()
    }
  })

  test('in the cluster: host and port of the environment, files of the service account', {
    target: 'real',
  }, async (t) => {
    // The files are in a place that only root can create, in a namespace of its own.
    if (process.getuid?.() !== 0) return
    const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
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

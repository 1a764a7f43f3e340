import { deepStrictEqual as equal, ok } from 'node:assert'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { kubeconfigOf, type RunningSidecar, type SidecarSetup, type TestContext } from '../../harness/context.ts'
import { type Listening, listen } from '../../harness/listen.ts'
import { sharingCode, testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'

/** Starts a sidecar with a kubeconfig. `change` edits its fields. */
async function reading(
  t: TestContext,
  change: (config: { cluster: Record<string, unknown>; user: Record<string, unknown> }) => void,
  setup: SidecarSetup = {},
): Promise<RunningSidecar> {
  const driver = await t.fullDriver()
  const gate = await t.gate()
  const user = t.cluster.user(t.app)
  const config = kubeconfigOf(gate.url, t.cluster.certificate.cert, { token: user.token }) as {
    clusters: { cluster: Record<string, unknown> }[]
    users: { user: Record<string, unknown> }[]
  }
  const [cluster, first] = [config.clusters[0]?.cluster ?? {}, config.users[0]?.user ?? {}]
  change({ cluster, user: first })
  const file = join(t.folder, 'config.json')
  writeFileSync(file, JSON.stringify(config))
  return t.sidecar({ driver, gate, user, ...setup, args: [`--kubeconfig=${file}`, ...(setup.args ?? [])] })
}

/** Waits until the sidecar watches the API server. */
const works = (t: TestContext, sidecar: RunningSidecar): Promise<void> => t.watching(sidecar, 'persistentvolumes')

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

/** Creates an exec credential plugin that runs this shell script. */
function plugin(t: TestContext, text: string): object {
  const file = join(t.folder, 'plugin.sh')
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
  return { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin.sh', interactiveMode: 'Never' }
}

const PASSWORD = 'hunter2'

for (const app of sharingCode('attacher')) {
  const test = testsOf(app, 'cluster configuration')

  test('the sidecar reads a CA and a token from files relative to the kubeconfig', async (t) => {
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

  test('insecure-skip-tls-verify lets the sidecar connect without a CA', async (t) => {
    const sidecar = await reading(t, ({ cluster }) => {
      delete cluster['certificate-authority-data']
      cluster['insecure-skip-tls-verify'] = true
    })
    await works(t, sidecar)
  })

  for (const [label, change] of [
    ['a wrong tls-server-name', { 'tls-server-name': 'wrong.example.com' }],
    ['an untrusted certificate of the API server', { 'certificate-authority-data': undefined }],
  ] as const) {
    test(`with ${label}, the sidecar sends no request, logs the error and keeps running`, async (t) => {
      const sidecar = await reading(t, ({ cluster }) => void Object.assign(cluster, change))
      await eventually('three connections', () => sidecar.gate.connections >= 3)
      await eventually('a line about the certificate', () =>
        sidecar.lines.find((line) => /certificate|wrong\.example\.com/.test(line)),
      )
      const requests = sidecar.gate.requests.filter(({ resource }) => resource !== '')
      equal(requests, [])
      equal(sidecar.exit, undefined)
    })
  }

  test('the sidecar uses the token of an exec plugin in the kubeconfig', async (t) => {
    const sidecar = await reading(t, ({ user }) => {
      const status = { token: user['token'] }
      const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }
      user['exec'] = plugin(t, `cat <<'END'\n${JSON.stringify(answer)}\nEND`)
      delete user['token']
    })
    await works(t, sidecar)
  })

  test('the sidecar connects through the proxy in proxy-url', async (t) => {
    using proxy = await tunnel()
    const sidecar = await reading(t, ({ cluster }) => {
      cluster['proxy-url'] = proxy.url
    })
    await works(t, sidecar)
    equal([...new Set(proxy.asked.map((each) => `https://${each}`))], [sidecar.gate.url])
  })

  test('the sidecar does not use HTTPS_PROXY for an API server on a loopback address', async (t) => {
    using proxy = await tunnel()
    const env = { HTTPS_PROXY: proxy.url, https_proxy: proxy.url }
    await works(t, await reading(t, () => undefined, { env }))
    equal(proxy.asked, [])
  })

  test('without a kubeconfig, the sidecar uses the environment and the files of its service account', {
    target: 'real',
  }, async (t) => {
    // The test needs root, because it mounts a folder over the path of the service account files.
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

  test('the log does not contain the password of a proxy that refuses the sidecar', async (t) => {
    const server = createHttpServer()
    server.on('connect', (_, socket) => {
      socket.on('error', () => undefined) // the sidecar closes the connection
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
    })
    using proxy = await listen(server)
    const through: Parameters<typeof reading>[1] = ({ cluster }) => {
      cluster['proxy-url'] = `http://me:${PASSWORD}@127.0.0.1:${proxy.port}`
    }
    const sidecar = await reading(t, through, { args: ['-v=9'] })
    await sidecar.line('Proxy Authentication Required')
    equal(sidecar.linesWith(PASSWORD), [])
  })
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base/testing'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { ClusterConfig } from './cluster-config.ts'
import { inClusterConfig, loadClusterConfig } from './load.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n'
const ENV = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' }

let folder: string
let log: RecordingLogger
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'account-'))
  writeFileSync(join(folder, 'token'), 'secret\n')
  writeFileSync(join(folder, 'ca.crt'), PEM)
  log = recordingLogger()
})
afterEach(() => rmSync(folder, { recursive: true }))

const load = (env: NodeJS.ProcessEnv = ENV): Promise<ClusterConfig> =>
  inClusterConfig({ env, log, clock: new FakeClock(), folder })

test('the in-cluster configuration comes from the environment and the files of the pod', async () => {
  const config = await load()
  expect(config).toMatchObject({ origin: 'https://10.96.0.1:443', basePath: '', headers: [], proxy: undefined })
  expect(await config.credentials.authorization()).toBe('Bearer secret')
  expect(config.tls?.authorities()).toBe(PEM)
  expect(config.tls).toMatchObject({ insecure: false, serverName: undefined })
})

test.each([
  ['fd00::1', '443', 'https://[fd00::1]:443'],
  ['10.0.0.1', '8080', 'https://10.0.0.1:8080'],
])('the API server at %s with the port %s has the origin %s, always with TLS', async (host, port, origin) => {
  const config = await load({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port })
  expect(config.origin).toBe(origin)
})

test.each([{}, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, { KUBERNETES_SERVICE_PORT: '443' }])(
  'the in-cluster configuration throws without the environment of a pod: %j',
  async (env) => {
    const message =
      'unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined'
    await expect(load(env)).rejects.toHaveProperty('message', message)
    await expect(loadClusterConfig({ env, log, clock: new FakeClock() })).rejects.toHaveProperty('message', message)
  },
)

test.each(['abc', '443x', '65536', '-1', '443/x'])('the error for an invalid port %j is one line', async (port) => {
  await expect(load({ ...ENV, KUBERNETES_SERVICE_PORT: port })).rejects.toHaveProperty(
    'message',
    `unable to load in-cluster configuration, KUBERNETES_SERVICE_PORT is no port: "${port}"`,
  )
})

test('the in-cluster configuration throws without the token file', async () => {
  rmSync(join(folder, 'token'))
  await expect(load()).rejects.toHaveProperty('message', `open ${join(folder, 'token')}: no such file or directory`)
})

test.each([
  ['missing', (file: string) => rmSync(file), 'open FILE: no such file or directory'],
  ['invalid', (file: string) => writeFileSync(file, 'x'), 'data does not contain any valid RSA or ECDSA certificates'],
])('a CA file of the pod that is %s causes an error line, and default authorities apply', async (_, spoil, reason) => {
  const file = join(folder, 'ca.crt')
  spoil(file)
  const roots = join(folder, 'roots.pem')
  writeFileSync(roots, PEM)
  const config = await load({ ...ENV, SSL_CERT_FILE: roots })
  expect(config.tls?.authorities()).toEqual([PEM])
  expect(log.lines).toMatchObject([
    { message: `Expected to load root CA config from ${file}, but got err: ${reason.replace('FILE', file)}` },
  ])
})

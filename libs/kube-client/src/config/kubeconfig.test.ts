import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createKubeClient } from '../create-client.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { loadClusterConfig } from './load.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n'
const SERVER = 'https://10.0.0.1:6443'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  path = join(folder, 'config')
})
afterEach(() => rmSync(folder, { recursive: true }))

interface Parts {
  readonly cluster?: object
  readonly user?: object
  readonly top?: object
}

/** Writes a kubeconfig (JSON is YAML) and loads it. */
function load({ cluster = { server: SERVER }, user = {}, top = {} }: Parts, master?: string): Promise<ClusterConfig> {
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }, { name: 'broken, but unused' }],
    users: [{ name: 'u', user }],
    ...top,
  }
  writeFileSync(path, JSON.stringify(document, undefined, 2))
  return loadFile(master)
}

const loadFile = (master?: string): Promise<ClusterConfig> =>
  loadClusterConfig({ kubeconfig: path, master, env: {}, log: silentLogger, clock: new FakeClock() })

const script = (text: string): string => {
  const file = join(folder, 'plugin')
  writeFileSync(file, `#!/bin/sh\n${text}\n`)
  chmodSync(file, 0o755)
  return file
}
const credential = (status: object): string =>
  JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })
const exec = (fields: object): Parts => ({
  user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', ...fields } },
})

describe('the server', () => {
  test('is that of the current context', async () => {
    expect(await load({})).toMatchObject({ origin: SERVER, basePath: '', tls: { insecure: false }, headers: [] })
  })

  test('is --master where that is given, also without a file', async () => {
    expect(await load({}, 'https://10.9.9.9:1')).toMatchObject({ origin: 'https://10.9.9.9:1' })
    const options = { master: '10.9.9.9:8080', env: {}, log: silentLogger, clock: new FakeClock() }
    expect(await loadClusterConfig(options)).toMatchObject({ origin: 'http://10.9.9.9:8080', tls: undefined })
  })

  test('is trusted by the authority in the file or in the data, under another name, or blindly', async () => {
    writeFileSync(join(folder, 'ca.pem'), PEM)
    const byFile = await load({
      cluster: { server: SERVER, 'certificate-authority': 'ca.pem', 'tls-server-name': 'n' },
    })
    expect(byFile.tls?.authorities()).toBe(PEM)
    expect(byFile.tls?.serverName).toBe('n')
    const data = Buffer.from(PEM).toString('base64')
    const byData = await load({ cluster: { server: SERVER, 'certificate-authority-data': data } })
    expect(byData.tls?.authorities()).toBe(PEM)
    const blindly = await load({ cluster: { server: SERVER, 'insecure-skip-tls-verify': true } })
    expect(blindly.tls?.insecure).toBe(true)
  })

  test('may be reached through a proxy', async () => {
    expect((await load({ cluster: { server: SERVER, 'proxy-url': 'http://proxy:3128' } })).proxy).toBeDefined()
    expect((await load({ cluster: { server: SERVER, 'proxy-url': 'socks5://proxy:1080' } })).proxy).toBeDefined()
  })
})

describe('the user', () => {
  test.each([
    ['with a token', { token: 'secret' }, 'Bearer secret'],
    ['with a password', { username: 'me', password: 'pass' }, `Basic ${Buffer.from('me:pass').toString('base64')}`],
    ['with nothing', {}, undefined],
  ])('%s', async (_, user, authorization) => {
    expect(await (await load({ user })).credentials.authorization()).toBe(authorization)
  })

  test.each([
    ['tokenFile', { tokenFile: 'token' }],
    ['tokenFile beside an older token', { tokenFile: 'token', token: 'old' }],
    ['auth-provider', { 'auth-provider': { name: 'tokenFile', config: { tokenFile: 'TOKEN' } } }],
  ])('with a token in a file, by %s', async (_, user) => {
    const file = join(folder, 'token')
    writeFileSync(file, 'from file\n')
    const absolute = JSON.parse(JSON.stringify(user).replace('TOKEN', file))
    expect(await (await load({ user: absolute })).credentials.authorization()).toBe('Bearer from file')
  })

  test('who speaks for another says so', async () => {
    const user = { as: 'other', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { scopes: ['x'] } }
    expect((await load({ user })).headers).toEqual([
      ['Impersonate-User', 'other'],
      ['Impersonate-Uid', '7'],
      ['Impersonate-Group', 'a'],
      ['Impersonate-Group', 'b'],
      ['Impersonate-Extra-scopes', 'x'],
    ])
  })

  test('keeps the token from a server that --master makes one without TLS', async () => {
    expect(await (await load({ user: { token: 'x' } }, 'http://10.9.9.9')).credentials.authorization()).toBeUndefined()
  })
})

describe('an exec plugin', () => {
  test('is asked once for a token, and again when the server refuses it', async () => {
    const count = join(folder, 'count')
    script(`echo x >> ${count}; n=$(wc -l < ${count}); echo '${credential({ token: 'T' })}' | sed "s/T/t$((n))/"`)
    const { credentials } = await load(exec({ command: './plugin' }))
    expect(await credentials.authorization()).toBe('Bearer t1')
    expect(await credentials.authorization()).toBe('Bearer t1')
    expect(await credentials.refused('Bearer t1')).toBe(true)
    expect(await credentials.authorization()).toBe('Bearer t2')
  })

  test('runs once for all who ask at the same time, and once for all who were refused', async () => {
    const count = join(folder, 'count')
    script(`echo x >> ${count}; n=$(wc -l < ${count}); echo '${credential({ token: 'T' })}' | sed "s/T/t$((n))/"`)
    const { credentials } = await load(exec({ command: './plugin' }))
    const asked = [1, 2, 3].map(() => credentials.authorization())
    expect(await Promise.all(asked)).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1'])
    const refused = [1, 2, 3].map(() => credentials.refused('Bearer t1'))
    expect(await Promise.all(refused)).toEqual([true, true, true])
    expect(await credentials.refused('Bearer t1')).toBe(true)
    expect(await credentials.authorization()).toBe('Bearer t2')
  })

  test('that says the same again was refused for good', async () => {
    script(`echo '${credential({ token: 't' })}'`)
    const { credentials } = await load(exec({ command: './plugin' }))
    await credentials.authorization()
    expect(await credentials.refused('Bearer t')).toBe(false)
  })

  test('that reads from a person finds nobody', async () => {
    script(`read password; echo '${credential({ token: 't' })}'`)
    const { credentials } = await load(exec({ command: './plugin' }))
    expect(await credentials.authorization()).toBe('Bearer t')
  })

  test('may answer with a certificate, and learns what it is asked for', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' }
    script(`echo "$KUBERNETES_EXEC_INFO$OWN" > ${folder}/info; echo '${credential(status)}'`)
    const env = [{ name: 'OWN', value: ' own' }]
    const { credentials } = await load(exec({ command: './plugin', env, provideClusterInfo: true }))
    expect(await credentials.authorization()).toBeUndefined()
    expect(credentials.certificate()).toEqual({ cert: 'CERT', key: 'KEY' })
    const { readFileSync } = await import('node:fs')
    expect(readFileSync(`${folder}/info`, 'utf8').trim()).toBe(
      `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,"cluster":{"server":"${SERVER}"}}} own`,
    )
  })

  test.each([
    ['does not exist', () => 'no-such-plugin', 'exec: executable no-such-plugin not found'],
    ['fails', () => script('echo first >&2; echo second >&2; exit 3'), 'exec: executable PLUGIN failed: first'],
  ])('that %s is told by name', async (_, command, message) => {
    const { credentials } = await load(exec({ command: command() }))
    await expect(credentials.authorization()).rejects.toHaveProperty(
      'message',
      `getting credentials: ${message.replace('PLUGIN', join(folder, 'plugin'))}`,
    )
  })
})

describe('what cannot work is one line that a person understands', () => {
  const invalid = (text: string): string => `invalid configuration: ${text}`
  const NOTHING = 'no configuration has been provided, try setting KUBERNETES_MASTER environment variable'

  test('a file that is not there', async () => {
    await expect(loadFile()).rejects.toHaveProperty('message', `stat ${path}: no such file or directory`)
  })

  test('a file that is a folder', async () => {
    mkdirSync(path)
    await expect(loadFile()).rejects.toThrow(`error loading config file "${path}": read ${path}: is a directory`)
  })

  test.each([
    ['', invalid(NOTHING)],
    ['a: [', 'error loading config file "PATH": yaml: line 2: deficient indentation'],
    ['# first\n---\na: 1\na: 2\n', 'error loading config file "PATH": yaml: line 4: duplicated mapping key'],
    ['- a', 'error loading config file "PATH": yaml: the document is not a mapping'],
  ])('the file %j', async (text, message) => {
    writeFileSync(path, text)
    await expect(loadFile()).rejects.toHaveProperty('message', message.replace('PATH', path))
  })

  test.each<[string, Parts, string]>([
    ['no context', { top: { 'current-context': undefined } }, invalid(NOTHING)],
    [
      'a context that is not there',
      { top: { 'current-context': 'gone' } },
      invalid('[context was not found for specified context: gone, cluster has no server defined]'),
    ],
    ['a cluster that is not there', { top: { clusters: [] } }, invalid(NOTHING)],
    ['a cluster without server', { cluster: { 'tls-server-name': 'n' } }, invalid('no server found for cluster "c"')],
    [
      'an authority that is not there',
      { cluster: { server: SERVER, 'certificate-authority': '/gone.pem' } },
      invalid('unable to read certificate-authority /gone.pem for c due to open /gone.pem: no such file or directory'),
    ],
    [
      'an odd proxy',
      { cluster: { server: SERVER, 'proxy-url': 'ftp://p' } },
      invalid(
        `invalid 'proxy-url' "ftp://p" for cluster "c": unsupported scheme "ftp", must be http, https, or socks5`,
      ),
    ],
    [
      'two ways to authenticate',
      { user: { token: 't', username: 'u', password: 'p' } },
      invalid('more than one authentication method found for u; found [token basicAuth], only one is allowed'),
    ],
    [
      'a certificate without key',
      { user: { 'client-certificate-data': 'eA==' } },
      invalid('client-key-data or client-key must be specified for u to use the clientCert authentication method.'),
    ],
    [
      'a plugin without version',
      { user: { exec: { command: 'x' } } },
      invalid('apiVersion must be specified for u to use exec authentication plugin'),
    ],
    [
      'a legacy provider',
      { user: { 'auth-provider': { name: 'oidc' } } },
      invalid('no Auth Provider found for name "oidc"'),
    ],
    [
      'a token file that is not there',
      { user: { tokenFile: '/gone' } },
      'failed to read token file "/gone": open /gone: no such file or directory',
    ],
  ])('%s', async (_, parts, message) => {
    await expect(load(parts)).rejects.toHaveProperty('message', message)
  })
  test.each<[string, Parts, string]>([
    [
      'an authority that is none',
      { cluster: { server: SERVER, 'certificate-authority-data': 'eA==' } },
      'unable to load root certificates: unable to parse bytes as PEM block',
    ],
    [
      'an authority for a server that is not verified',
      { cluster: { server: SERVER, 'certificate-authority-data': 'eA==', 'insecure-skip-tls-verify': true } },
      'specifying a root certificates file with the insecure flag is not allowed',
    ],
    [
      'a certificate that is none',
      { user: { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' } },
      'unable to load client certificate: ',
    ],
    ['a server that is none', { cluster: { server: 'a b' } }, 'host must be a URL or a host:port pair: "a b"'],
  ])('%s, which is told when a client is made of it', async (_, parts, message) => {
    const config = await load(parts)
    const options = { config, flow: { kind: 'adaptive' } as const, clock: new FakeClock(), log: silentLogger }
    expect(() => createKubeClient({ ...options, userAgent: 'test' })).toThrow(message)
  })
})

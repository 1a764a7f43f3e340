import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
function load(
  { cluster = { server: SERVER }, user = {}, top = {} }: Parts,
  master?: string,
  clock?: FakeClock,
): Promise<ClusterConfig> {
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
  return loadFile(master, clock)
}

const loadFile = (master?: string, clock = new FakeClock()): Promise<ClusterConfig> =>
  loadClusterConfig({ kubeconfig: path, master, env: {}, log: silentLogger, clock })

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

/** What the same lines give in client-go, which reads YAML 1.1 and the first document alone. */
describe('a file whose first document is a kubeconfig starts, whatever stands around it', () => {
  const DOCUMENT = `current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '${SERVER}'}}]
users: [{name: u, user: {token: secret}}]
`
  test.each([
    ['nothing', DOCUMENT],
    ['a mark with a comment', `--- # made by hand\n${DOCUMENT}`],
    ['comments, empty lines and a mark', `# one\n\n  # two\n---\n${DOCUMENT}`],
    ['a directive', `%YAML 1.1\n---\n${DOCUMENT}`],
    ['a byte order mark', `\uFEFF${DOCUMENT}`],
    ['a mark at the end', `${DOCUMENT}---\n`],
    ['a mark without a line break at the end', `${DOCUMENT}---`],
    ['a second document', `${DOCUMENT}--- # other\ncurrent-context: there\n`],
    ['a second document that is broken', `${DOCUMENT}---\na: [\n\t`],
    ['an end', `${DOCUMENT}...\n`],
    ['an end and something else', `${DOCUMENT}... \nb: [`],
    ['line ends of Windows', `---\r\n${DOCUMENT.replaceAll('\n', '\r\n')}---\r\n`],
    ['a key that is written twice', `current-context: there\n${DOCUMENT}`],
  ])('%s', async (_, text) => {
    writeFileSync(path, text)
    const { origin, credentials } = await loadFile()
    expect({ origin, authorization: await credentials.authorization() }).toEqual({
      origin: SERVER,
      authorization: 'Bearer secret',
    })
  })

  test('truth is written as in YAML 1.1, and mappings may be merged', async () => {
    writeFileSync(
      path,
      `current-context: here
contexts: [{name: here, context: {cluster: c}}]
x: &shared {server: '${SERVER}', insecure-skip-tls-verify: yes}
clusters: [{name: c, cluster: {<<: *shared, tls-server-name: other}}]
`,
    )
    expect(await loadFile()).toMatchObject({ origin: SERVER, tls: { insecure: true, serverName: 'other' } })
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

  test('is asked again once what it said has expired', async () => {
    const clock = new FakeClock()
    const expirationTimestamp = new Date(clock.now() + 60_000).toISOString()
    const count = join(folder, 'count')
    script(`echo x >> ${count}; echo '${credential({ token: 't', expirationTimestamp })}'`)
    const { credentials } = await load(exec({ command: './plugin' }), undefined, clock)
    const runs = async (): Promise<number> => {
      await credentials.authorization()
      return readFileSync(count, 'utf8').split('\n').length - 1
    }
    expect(await runs()).toBe(1)
    await clock.advance(59_999)
    expect(await runs()).toBe(1)
    await clock.advance(1)
    expect(await runs()).toBe(2)
    // What it says now has expired already.
    expect(await runs()).toBe(3)
  })

  test('that fails after a refusal leaves the certificate that connections are made with', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' }
    script(`test -f ${folder}/gone && exit 1; echo '${credential(status)}'`)
    const { credentials } = await load(exec({ command: './plugin' }))
    await credentials.authorization()
    writeFileSync(join(folder, 'gone'), '')
    await expect(credentials.refused(undefined)).rejects.toThrow('failed: exit code 1')
    expect(credentials.certificate()).toEqual({ cert: 'CERT', key: 'KEY' })
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
    expect(readFileSync(`${folder}/info`, 'utf8').trim()).toBe(
      `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,"cluster":{"server":"${SERVER}"}}} own`,
    )
  })

  test.each([
    ['does not exist', () => 'no-such-plugin', 'exec: executable no-such-plugin not found'],
    ['fails without a word', () => script('echo hunter2; exit 3'), 'exec: executable PLUGIN failed: exit code 3'],
    ['prints its token alone', () => script('echo hunter2'), 'decoding stdout: 8 bytes that are no JSON'],
    ['prints something else', () => script(`echo '{"t":"hunter2"}'`), 'decoding stdout: it is no ExecCredential'],
    [
      'answers in another version',
      () => script(`echo '${credential({ token: 'hunter2' }).replace('/v1"', '/v1beta1"')}'`),
      'exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1',
    ],
    [
      'has no status',
      () => script(`echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}'`),
      "exec plugin didn't return a status field",
    ],
    ['gives nothing', () => script(`echo '${credential({})}'`), "exec plugin didn't return a token or cert/key pair"],
    [
      'gives half of a certificate',
      () => script(`echo '${credential({ clientKeyData: 'hunter2' })}'`),
      'exec plugin returned only certificate or key, not both',
    ],
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
    ['a: [', 'error loading config file "PATH": yaml: line 1: unexpected end of the stream within a flow collection'],
    [
      '# first\n---\na: 1\nb: c: d\n',
      'error loading config file "PATH": yaml: line 4: bad indentation of a mapping entry',
    ],
    ['---\n---\na: [\n', invalid(NOTHING)],
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

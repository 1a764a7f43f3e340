import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base/testing'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createKubeClient } from '../create-client.ts'
import { KubeconfigFile, type KubeconfigParts, SERVER } from '../testing/kubeconfig-file.ts'
import { loadClusterConfig } from './load.ts'

const PEM = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n'

let file: KubeconfigFile
beforeEach(() => {
  file = new KubeconfigFile()
})
afterEach(() => file.remove())

describe('the server', () => {
  test('the client uses the server of the current context', async () => {
    expect(await file.load({})).toMatchObject({ origin: SERVER, basePath: '', tls: { insecure: false }, headers: [] })
  })

  test('the client uses --master if it is set, even without a kubeconfig', async () => {
    expect(await file.load({}, 'https://10.9.9.9:1')).toMatchObject({ origin: 'https://10.9.9.9:1' })
    const options = { master: '10.9.9.9:8080', env: {}, log: silentLogger, clock: new FakeClock() }
    expect(await loadClusterConfig(options)).toMatchObject({ origin: 'http://10.9.9.9:8080', tls: undefined })
  })

  test('the client verifies the certificate of the server as the kubeconfig requests', async () => {
    writeFileSync(join(file.folder, 'ca.pem'), PEM)
    const byFile = await file.load({
      cluster: { server: SERVER, 'certificate-authority': 'ca.pem', 'tls-server-name': 'n' },
    })
    expect(byFile.tls?.authorities()).toBe(PEM)
    expect(byFile.tls?.serverName).toBe('n')
    const data = Buffer.from(PEM).toString('base64')
    const byData = await file.load({ cluster: { server: SERVER, 'certificate-authority-data': data } })
    expect(byData.tls?.authorities()).toBe(PEM)
    const blindly = await file.load({ cluster: { server: SERVER, 'insecure-skip-tls-verify': true } })
    expect(blindly.tls?.insecure).toBe(true)
  })

  test('the client reaches the server through the proxy in the kubeconfig', async () => {
    expect((await file.load({ cluster: { server: SERVER, 'proxy-url': 'http://proxy:3128' } })).proxy).toBeDefined()
    expect((await file.load({ cluster: { server: SERVER, 'proxy-url': 'socks5://proxy:1080' } })).proxy).toBeDefined()
  })
})

/** These tests expect the results of client-go, which reads YAML 1.1 and only the first document of a kubeconfig. */
describe('YAML', () => {
  const DOCUMENT = `current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '${SERVER}'}}]
users: [{name: u, user: {token: secret}}]
`
  test.each([
    ['nothing else', DOCUMENT],
    ['a start mark with a comment', `--- # made by hand\n${DOCUMENT}`],
    ['comments, empty lines and a start mark', `# one\n\n  # two\n---\n${DOCUMENT}`],
    ['a directive', `%YAML 1.1\n---\n${DOCUMENT}`],
    ['a byte order mark', `\uFEFF${DOCUMENT}`],
    ['a start mark at the end', `${DOCUMENT}---\n`],
    ['a start mark without a line break at the end', `${DOCUMENT}---`],
    ['a second document', `${DOCUMENT}--- # other\ncurrent-context: there\n`],
    ['a second document that is broken', `${DOCUMENT}---\na: [\n\t`],
    ['an end mark', `${DOCUMENT}...\n`],
    ['an end mark and other text', `${DOCUMENT}... \nb: [`],
    ['line ends of Windows', `---\r\n${DOCUMENT.replaceAll('\n', '\r\n')}---\r\n`],
    ['a key that is written twice', `current-context: there\n${DOCUMENT}`],
    ['unknown tags', `!config\nx: !!of [!a 1, ! 2, !<tag:x,2000:y> {a: 1}]\n${DOCUMENT}`],
    ['a token with a tag', DOCUMENT.replace('secret', '!mine secret')],
    ['a token in base64', DOCUMENT.replace('secret', '!!binary c2VjcmV0')],
    ['aliases', DOCUMENT.replace("server: '", "server: &s '").replace('secret}', 'secret, note: *s}')],
    ['many aliases of a short list', `a: &a [1, 2]\nb: [${'*a, '.repeat(50)}]\n${DOCUMENT}`],
    ['many aliases, as go-yaml accepts them', `a: &a [1, 2]\nb: [${'*a, '.repeat(300)}]\n${DOCUMENT}`],
  ])('the client loads a kubeconfig with %s', async (_, text) => {
    writeFileSync(file.path, text)
    const { origin, credentials } = await file.loadFile()
    expect({ origin, authorization: await credentials.authorization() }).toEqual({
      origin: SERVER,
      authorization: 'Bearer secret',
    })
  })

  test('a kubeconfig may contain the booleans of YAML 1.1 and merged mappings', async () => {
    writeFileSync(
      file.path,
      `current-context: here
contexts: [{name: here, context: {cluster: c}}]
x: &shared {server: '${SERVER}', insecure-skip-tls-verify: yes}
clusters: [{name: c, cluster: {<<: *shared, tls-server-name: other}}]
`,
    )
    expect(await file.loadFile()).toMatchObject({ origin: SERVER, tls: { insecure: true, serverName: 'other' } })
  })
})

describe('the user', () => {
  test.each([
    ['with a token', { token: 'secret' }, 'Bearer secret'],
    ['with a password', { username: 'me', password: 'pass' }, `Basic ${Buffer.from('me:pass').toString('base64')}`],
    ['with nothing', {}, undefined],
  ])('the client authenticates a user %s', async (_, user, authorization) => {
    expect(await (await file.load({ user })).credentials.authorization()).toBe(authorization)
  })

  test.each([
    ['tokenFile', { tokenFile: 'token' }],
    ['tokenFile next to an older token', { tokenFile: 'token', token: 'old' }],
    ['auth-provider', { 'auth-provider': { name: 'tokenFile', config: { tokenFile: 'TOKEN' } } }],
  ])('the client reads the token from the file that %s names', async (_, user) => {
    const token = join(file.folder, 'token')
    writeFileSync(token, 'from file\n')
    const userWithPath = JSON.parse(JSON.stringify(user).replace('TOKEN', token))
    expect(await (await file.load({ user: userWithPath })).credentials.authorization()).toBe('Bearer from file')
  })

  test('the client sends impersonation headers if the kubeconfig impersonates a user', async () => {
    const user = { as: 'other', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { scopes: ['x'] } }
    expect((await file.load({ user })).headers).toEqual([
      ['Impersonate-User', 'other'],
      ['Impersonate-Uid', '7'],
      ['Impersonate-Group', 'a'],
      ['Impersonate-Group', 'b'],
      ['Impersonate-Extra-scopes', 'x'],
    ])
  })

  test('the client does not send the token if --master sets a server without TLS', async () => {
    expect(
      await (await file.load({ user: { token: 'x' } }, 'http://10.9.9.9')).credentials.authorization(),
    ).toBeUndefined()
  })
})

describe('invalid kubeconfigs', () => {
  const invalid = (text: string): string => `invalid configuration: ${text}`
  const NOTHING = 'no configuration has been provided, try setting KUBERNETES_MASTER environment variable'

  test('the error for a missing kubeconfig contains its path', async () => {
    await expect(file.loadFile()).rejects.toHaveProperty('message', `stat ${file.path}: no such file or directory`)
  })

  test('the error for a folder in the place of a kubeconfig contains the path of the folder', async () => {
    mkdirSync(file.path)
    await expect(file.loadFile()).rejects.toThrow(
      `error loading config file "${file.path}": read ${file.path}: is a directory`,
    )
  })

  test.each([
    ['', invalid(NOTHING)],
    ['a: [', 'error loading config file "PATH": yaml: line 1: unexpected end of the stream within a flow collection'],
    [
      '# first\n---\na: 1\nb: c: d\n',
      'error loading config file "PATH": yaml: line 4: bad indentation of a mapping entry',
    ],
    ['---\n---\na: [\n', invalid(NOTHING)],
    [
      `a0: &a0 x\n${Array.from({ length: 90 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]\n`).join('')}`,
      'error loading config file "PATH": yaml: document contains excessive aliasing',
    ],
    [
      `a0: &a0 x\n${Array.from({ length: 20 }, (_, at) => `a${at + 1}: &a${at + 1} ${'['.repeat(90)}*a${at}${']'.repeat(90)}\n`).join('')}`,
      'error loading config file "PATH": yaml: exceeded max depth of 1000',
    ],
    ['a: &a [*a]', 'error loading config file "PATH": yaml: exceeded max depth of 1000'],
    ['a: !<b{\n> c', 'error loading config file "PATH": yaml: line 2: tag name cannot contain such characters: b{\\n'],
    ['a: *b', 'error loading config file "PATH": yaml: line 1: unidentified alias "b"'],
    ['- a', 'error loading config file "PATH": yaml: the document is not a mapping'],
  ])('the content %j of a kubeconfig causes an error', async (text, message) => {
    writeFileSync(file.path, text)
    await expect(file.loadFile()).rejects.toHaveProperty('message', message.replace('PATH', file.path))
  })

  test.each<[string, KubeconfigParts, string]>([
    ['no context', { top: { 'current-context': undefined } }, invalid(NOTHING)],
    [
      'a missing context',
      { top: { 'current-context': 'gone' } },
      invalid('[context was not found for specified context: gone, cluster has no server defined]'),
    ],
    ['a missing cluster', { top: { clusters: [] } }, invalid(NOTHING)],
    ['a cluster without server', { cluster: { 'tls-server-name': 'n' } }, invalid('no server found for cluster "c"')],
    [
      'a missing authority file',
      { cluster: { server: SERVER, 'certificate-authority': '/gone.pem' } },
      invalid('unable to read certificate-authority /gone.pem for c due to open /gone.pem: no such file or directory'),
    ],
    [
      'a proxy with a password, but not the password',
      { cluster: { server: SERVER, 'proxy-url': 'ftp://me:secret@p' } },
      invalid(
        `invalid 'proxy-url' "ftp://xxxxx@p" for cluster "c": unsupported scheme "ftp", must be http, https, or socks5`,
      ),
    ],
    [
      'a proxy with an unknown scheme',
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
      'a token of digits without quotes',
      { user: { token: 123_456 } },
      invalid('token of u is of type number, and must be of type string'),
    ],
    [
      'a boolean in quotes, and a list of servers',
      { cluster: { server: ['a'], 'insecure-skip-tls-verify': 'true' } },
      invalid(
        '[server of c is of type array, and must be of type string, ' +
          'insecure-skip-tls-verify of c is of type string, and must be of type boolean, no server found for cluster "c"]',
      ),
    ],
    [
      'groups without a user',
      { user: { token: 't', 'as-groups': ['a'] } },
      invalid('requesting uid, groups or user-extra for u without impersonating a user'),
    ],
    [
      'a legacy provider',
      { user: { 'auth-provider': { name: 'oidc' } } },
      invalid('no Auth Provider found for name "oidc"'),
    ],
    [
      'a missing token file',
      { user: { tokenFile: '/gone' } },
      'failed to read token file "/gone": open /gone: no such file or directory',
    ],
  ])('the loader of a kubeconfig reports this error: %s', async (_, fields, message) => {
    await expect(file.load(fields)).rejects.toHaveProperty('message', message)
  })
  test.each<[string, KubeconfigParts, string]>([
    [
      'an invalid authority',
      { cluster: { server: SERVER, 'certificate-authority-data': 'eA==' } },
      'unable to load root certificates: unable to parse bytes as PEM block',
    ],
    [
      'an authority for a server that is not verified',
      { cluster: { server: SERVER, 'certificate-authority-data': 'eA==', 'insecure-skip-tls-verify': true } },
      'specifying a root certificates file with the insecure flag is not allowed',
    ],
    [
      'an invalid certificate',
      { user: { 'client-certificate-data': 'eA==', 'client-key-data': 'eA==' } },
      'unable to load client certificate: ',
    ],
    ['an invalid server', { cluster: { server: 'a b' } }, 'host must be a URL or a host:port pair: "a b"'],
  ])('this mistake in a kubeconfig is reported when a client is created: %s', async (_, fields, message) => {
    const config = await file.load(fields)
    const options = { config, flow: { kind: 'adaptive' } as const, clock: new FakeClock(), log: silentLogger }
    expect(() => createKubeClient({ ...options, userAgent: 'test' })).toThrow(message)
  })
})

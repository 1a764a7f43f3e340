import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base/testing'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { KubeconfigFile, type KubeconfigParts, SERVER } from '../testing/kubeconfig-file.ts'

const credential = (status: object): string =>
  JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })
const exec = (fields: object): KubeconfigParts => ({
  user: { exec: { apiVersion: 'client.authentication.k8s.io/v1', ...fields } },
})

let file: KubeconfigFile
beforeEach(() => {
  file = new KubeconfigFile()
})
afterEach(() => file.remove())

describe('the credentials of an exec plugin', () => {
  test('an exec plugin runs once for a token, and again if the server refuses the token', async () => {
    const count = join(file.folder, 'count')
    file.script(`echo x >> ${count}; n=$(wc -l < ${count}); echo '${credential({ token: 'T' })}' | sed "s/T/t$((n))/"`)
    const { credentials } = await file.load(exec({ command: './plugin' }))
    expect(await credentials.authorization()).toBe('Bearer t1')
    expect(await credentials.authorization()).toBe('Bearer t1')
    expect(await credentials.replaceRefused('Bearer t1')).toBe(true)
    expect(await credentials.authorization()).toBe('Bearer t2')
  })

  test('concurrent callers share one run of an exec plugin, and share a second run after the server refuses the token', async () => {
    const count = join(file.folder, 'count')
    file.script(`echo x >> ${count}; n=$(wc -l < ${count}); echo '${credential({ token: 'T' })}' | sed "s/T/t$((n))/"`)
    const { credentials } = await file.load(exec({ command: './plugin' }))
    const asked = [1, 2, 3].map(() => credentials.authorization())
    expect(await Promise.all(asked)).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1'])
    const refused = [1, 2, 3].map(() => credentials.replaceRefused('Bearer t1'))
    expect(await Promise.all(refused)).toEqual([true, true, true])
    expect(await credentials.replaceRefused('Bearer t1')).toBe(true)
    expect(await credentials.authorization()).toBe('Bearer t2')
  })

  test('an exec plugin runs again after its credentials have expired', async () => {
    const clock = new FakeClock()
    const expirationTimestamp = new Date(clock.now() + 60_000).toISOString()
    const count = join(file.folder, 'count')
    file.script(`echo x >> ${count}; echo '${credential({ token: 't', expirationTimestamp })}'`)
    const { credentials } = await file.load(exec({ command: './plugin' }), undefined, clock)
    const runs = async (): Promise<number> => {
      await credentials.authorization()
      return readFileSync(count, 'utf8').split('\n').length - 1
    }
    expect(await runs()).toBe(1)
    await clock.advance(59_999)
    expect(await runs()).toBe(1)
    await clock.advance(1)
    expect(await runs()).toBe(2)
    // The second answer has already expired, so the plugin runs again.
    expect(await runs()).toBe(3)
  })

  test('new connections still use the old certificate if a later run of the exec plugin fails', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' }
    file.script(`test -f ${file.folder}/gone && exit 1; echo '${credential(status)}'`)
    const { credentials } = await file.load(exec({ command: './plugin' }))
    await credentials.authorization()
    writeFileSync(join(file.folder, 'gone'), '')
    await expect(credentials.replaceRefused(undefined)).rejects.toThrow('failed: exit code 1')
    expect(credentials.certificate()).toEqual({ cert: 'CERT', key: 'KEY' })
  })

  test('`replaceRefused` resolves with false if the exec plugin prints the refused token again', async () => {
    file.script(`echo '${credential({ token: 't' })}'`)
    const { credentials } = await file.load(exec({ command: './plugin' }))
    await credentials.authorization()
    expect(await credentials.replaceRefused('Bearer t')).toBe(false)
  })

  test('an exec plugin that reads from a terminal gets no input', async () => {
    file.script(`read password; echo '${credential({ token: 't' })}'`)
    const { credentials } = await file.load(exec({ command: './plugin' }))
    expect(await credentials.authorization()).toBe('Bearer t')
  })

  test('an exec plugin may print a certificate, and receives the ExecCredential request and the configured environment', async () => {
    const status = { clientCertificateData: 'CERT', clientKeyData: 'KEY' }
    file.script(`echo "$KUBERNETES_EXEC_INFO$OWN" > ${file.folder}/info; echo '${credential(status)}'`)
    const env = [{ name: 'OWN', value: ' own' }]
    const { credentials } = await file.load(exec({ command: './plugin', env, provideClusterInfo: true }))
    expect(await credentials.authorization()).toBeUndefined()
    expect(credentials.certificate()).toEqual({ cert: 'CERT', key: 'KEY' })
    expect(readFileSync(`${file.folder}/info`, 'utf8').trim()).toBe(
      `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false,"cluster":{"server":"${SERVER}"}}} own`,
    )
  })

  test.each([
    ['does not exist', () => 'no-such-plugin', 'exec: executable no-such-plugin not found'],
    ['fails silently', () => file.script('echo hunter2; exit 3'), 'exec: executable PLUGIN failed: exit code 3'],
    ['prints only its token', () => file.script('echo hunter2'), 'decoding stdout: 8 bytes that are no JSON'],
    ['prints other JSON', () => file.script(`echo '{"t":"hunter2"}'`), 'decoding stdout: it is no ExecCredential'],
    [
      'answers in another version',
      () => file.script(`echo '${credential({ token: 'hunter2' }).replace('/v1"', '/v1beta1"')}'`),
      'exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1',
    ],
    [
      'has no status',
      () => file.script(`echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}'`),
      "exec plugin didn't return a status field",
    ],
    [
      'prints no credentials',
      () => file.script(`echo '${credential({})}'`),
      "exec plugin didn't return a token or cert/key pair",
    ],
    [
      'prints a key without a certificate',
      () => file.script(`echo '${credential({ clientKeyData: 'hunter2' })}'`),
      'exec plugin returned only certificate or key, not both',
    ],
    ['fails', () => file.script('echo first >&2; echo second >&2; exit 3'), 'exec: executable PLUGIN failed: first'],
  ])('an exec plugin causes a clear error if it %s', async (_, command, message) => {
    const { credentials } = await file.load(exec({ command: command() }))
    await expect(credentials.authorization()).rejects.toHaveProperty(
      'message',
      `getting credentials: ${message.replace('PLUGIN', join(file.folder, 'plugin'))}`,
    )
  })
})

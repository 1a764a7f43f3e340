import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeClock } from '@csi-sidecars/base/testing'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { ClusterConfig } from './cluster-config.ts'
import { loadClusterConfig } from './load.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubeconfigs-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Writes a kubeconfig into a separate folder. */
function file(name: string, document: object): string {
  mkdirSync(join(folder, name))
  const path = join(folder, name, 'config')
  writeFileSync(path, JSON.stringify(document))
  return path
}

const load = (kubeconfig: readonly string[], context?: string): Promise<ClusterConfig> =>
  loadClusterConfig({ kubeconfig, context, env: {}, log: silentLogger, clock: new FakeClock() })

const context = (name: string, cluster: string, more: object = {}): object => ({
  name,
  context: { cluster, user: 'u', ...more },
})
const cluster = (name: string, server: string, more: object = {}): object => ({ name, cluster: { server, ...more } })

describe('a context', () => {
  const one = {
    'current-context': 'a',
    contexts: [context('a', 'a', { namespace: 'storage' }), context('b', 'b')],
    clusters: [cluster('a', 'https://a:1'), cluster('b', 'https://b:1')],
  }

  test('the kubeconfig uses its current context unless the caller names another context', async () => {
    const path = file('one', one)
    expect(await load([path])).toMatchObject({ origin: 'https://a:1', namespace: 'storage' })
    expect(await load([path], '')).toMatchObject({ origin: 'https://a:1' })
    expect(await load([path], 'b')).toMatchObject({ origin: 'https://b:1', namespace: undefined })
  })

  test('the error for a missing context of a kubeconfig contains its name', async () => {
    await expect(load([file('one', one)], 'c')).rejects.toThrow('context was not found for specified context: c')
  })
})

describe('several files', () => {
  test('if several kubeconfig files define the same name, the first file wins', async () => {
    const contexts = file('contexts', { 'current-context': 'x', contexts: [context('x', 'c')] })
    const clusters = file('clusters', { clusters: [cluster('c', 'https://first:1')] })
    const late = file('late', {
      'current-context': 'y',
      contexts: [context('x', 'd'), context('y', 'c')],
      clusters: [cluster('c', 'https://second:1')],
    })
    expect(await load([contexts, clusters, late])).toMatchObject({ origin: 'https://first:1' })
    expect(await load([late, contexts, clusters])).toMatchObject({ origin: 'https://second:1' })
    expect(await load([contexts, clusters, late], 'y')).toMatchObject({ origin: 'https://first:1' })
  })

  test('relative paths in a kubeconfig are relative to the file that contains them', async () => {
    const first = file('first', { 'current-context': 'x', contexts: [context('x', 'c')], users: [] })
    const authority = { 'certificate-authority': 'ca.pem' }
    const second = file('second', { clusters: [cluster('c', 'https://c:1', authority)] })
    const third = file('third', { users: [{ name: 'u', user: { tokenFile: 'token' } }] })
    writeFileSync(join(folder, 'second', 'ca.pem'), 'authority')
    writeFileSync(join(folder, 'third', 'token'), 'secret')
    const config = await load([first, second, third])
    expect(config.tls?.authorities()).toBe('authority')
    expect(await config.credentials.authorization()).toBe('Bearer secret')
  })
})

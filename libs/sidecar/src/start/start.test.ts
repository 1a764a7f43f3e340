import { CONFIG_MAPS, LEASES } from '@csi-sidecars/kube-types'
import { type Cluster, configMap, startCluster } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { runInProcess } from '../testing/run-in-process.ts'
import { testSidecar } from '../testing/test-sidecar.ts'
import { programOf } from './program.ts'

const LEASE = { namespace: 'default', name: 'external-test-csi-example-com' }

function run(cluster: Cluster, signal: AbortSignal): ReturnType<typeof runInProcess> {
  const args = ['--leader-election', '--leader-election-namespace=default', '--label=done']
  const where = [`--kubeconfig=${cluster.kubeconfig}`, `--csi-address=${cluster.driver.socket}`]
  return runInProcess(programOf(testSidecar), [...where, ...args], signal && { signal })
}

it('an `App` starts, becomes the leader, reconciles objects and releases its lease', async () => {
  await using cluster = await startCluster({ objects: [configMap()] })
  const stop = new AbortController()
  const ended = run(cluster, stop.signal)
  const seen = await cluster.api.until(
    CONFIG_MAPS,
    { namespace: 'default', name: 'config-1' },
    (object) => object?.metadata?.labels !== undefined,
  )
  expect(seen?.metadata?.labels).toEqual({ 'seen-by': 'csi.example.com', done: 'true' })
  expect(cluster.api.get(LEASES, LEASE)?.spec?.holderIdentity).toMatch(/^host/)
  stop.abort()
  const { ending, log } = await ended
  expect(ending).toEqual({ code: 0 })
  expect(log).toMatch(/"Version" version="\S+" replaces="external-test v1\.0\.0"\n/)
  expect(cluster.api.get(LEASES, LEASE)?.spec?.holderIdentity).toBe('')
})

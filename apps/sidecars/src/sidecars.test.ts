import { CONFIG_MAPS, LEASES, PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { combine } from '@csi-sidecars/sidecar'
import { runInProcess, testSidecar } from '@csi-sidecars/sidecar/testing'
import { bound, type Cluster, csiNode, startCluster, va } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { SIDECARS, sidecars } from './sidecars.ts'

const ELECTION = ['--leader-election', '--leader-election-namespace=default']
const LEASES_OF = ['external-attacher-leader-csi-example-com', 'external-resizer-csi-example-com']

function run(
  cluster: Cluster,
  flags: readonly string[],
  { signal = new AbortController().signal, program = sidecars } = {},
): ReturnType<typeof runInProcess> {
  const where = [`--kubeconfig=${cluster.kubeconfig}`, `--csi-address=${cluster.driver.socket}`]
  return runInProcess(program, [...where, ...flags], { signal })
}

describe('one process', () => {
  it('one process attaches and expands volumes, with a Lease for each sidecar and one Probe call to the driver', async () => {
    const { claim, volume } = bound()
    await using cluster = await startCluster({ objects: [claim, volume, csiNode(), va()] })
    const { api, driver } = cluster
    const stop = new AbortController()
    const ended = run(cluster, [...ELECTION, '-v=2'], stop)
    await api.until(VOLUME_ATTACHMENTS, { name: 'va-1' }, (object) => object?.status?.attached === true)
    const ref = { namespace: 'default', name: 'pvc-1' }
    api.update(PERSISTENT_VOLUME_CLAIMS, ref, (object) => ({
      ...object,
      spec: { ...object.spec, resources: { requests: { storage: '2Gi' } } },
    }))
    await api.until(
      PERSISTENT_VOLUME_CLAIMS,
      ref,
      (object) => object?.status?.allocatedResources?.['storage'] === '2Gi',
    )
    const holders = LEASES_OF.map((name) => api.get(LEASES, { namespace: 'default', name })?.spec?.holderIdentity)
    expect(holders).toEqual([expect.stringMatching(/^host/), expect.stringMatching(/^host/)])
    stop.abort()
    const { ending, log } = await ended
    expect(ending).toEqual({ code: 0 })
    expect(log).toMatch(/"Version" .* replaces="external-attacher v4\.13\.0, external-resizer v2\.3\.0"/)
    expect(log).toMatch(/"Attached" sidecar="csi-attacher"/)
    expect(log).toMatch(/"Starting external resizer" sidecar="csi-resizer"/)
    expect(driver.calls.filter(({ method }) => method === 'Probe')).toHaveLength(1)
  })

  it('a third app in the process has a separate Lease', async () => {
    const label = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } } as const
    await using cluster = await startCluster({ objects: [...Object.values(bound()), csiNode(), va(), label] })
    const { api } = cluster
    const stop = new AbortController()
    const three = combine('csi-three', { byDefault: [...SIDECARS.map(({ value }) => value), testSidecar] })
    const ended = run(cluster, [...ELECTION, '--test-label=third'], { signal: stop.signal, program: three })
    await api.until(VOLUME_ATTACHMENTS, { name: 'va-1' }, (object) => object?.status?.attached === true)
    await api.until(
      CONFIG_MAPS,
      { namespace: 'default', name: 'a' },
      (map) => map?.metadata?.labels?.['third'] === 'true',
    )
    const lease = api.get(LEASES, { namespace: 'default', name: 'external-test-csi-example-com' })
    expect(lease?.spec?.holderIdentity).toMatch(/^host/)
    stop.abort()
    expect((await ended).ending).toEqual({ code: 0 })
  })

  it('the help lists the controllers of the process', async () => {
    const { log } = await runInProcess(sidecars, ['--help'])
    expect(log).toContain(
      'Comma-separated controllers to run: attacher, resizer, provisioner, snapshotter, livenessprobe. (default "attacher,resizer")',
    )
    expect(log).toMatch(
      /of external-attacher v\S+, external-resizer v\S+, external-provisioner v\S+, external-snapshotter v\S+ and livenessprobe v\S+\.\n$/,
    )
    const refused = await runInProcess(sidecars, ['--controllers=driver'])
    expect(refused.log).toMatch(/"driver" is none of attacher, resizer, provisioner, snapshotter, livenessprobe\n/)
  })

  it.each([
    ['--livenessprobe-health-port=1', 'flag -livenessprobe-health-port is for controller livenessprobe'],
    ['--probe-timeout=1s', 'flag -probe-timeout is for controller livenessprobe'],
  ])('the process refuses %s unless the livenessprobe runs, which it does not by default', async (flag, error) => {
    const { ending, log } = await runInProcess(sidecars, [flag])
    expect(ending).toEqual({ code: 2 })
    expect(log.startsWith(error)).toBe(true)
  })

  it('if the driver does not support a controller, the log shows how to start without it', async () => {
    await using cluster = await startCluster()
    cluster.driver.script('GetPluginCapabilities', () => ({ capabilities: [] }))
    const args = ['--controllers=resizer,livenessprobe', '--livenessprobe-health-port=0']
    const { ending, log } = await run(cluster, args)
    expect(ending).not.toEqual({ code: 0 })
    expect(log).toContain('use --controllers=livenessprobe')
    expect(log.trimEnd().split('\n').at(-1)).toContain('The livenessprobe ends with the process')
  })

  it('the process refuses a flag of an app that does not run', async () => {
    await using cluster = await startCluster()
    const { ending, log } = await run(cluster, ['--controllers=attacher', '--resizer-workers=3'])
    expect(ending).toEqual({ code: 2 })
    expect(log).toMatch(/^flag -resizer-workers is for controller resizer, which --controllers leaves out\n/)
  })
})

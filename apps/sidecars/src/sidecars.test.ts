import { CONFIG_MAPS, LEASES, PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { combine } from '@csi-sidecars/sidecar'
import { runInProcess, testSidecar } from '@csi-sidecars/sidecar/testing'
import { bound, type Cluster, csiNode, startCluster, va } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { CHOICE, SIDECARS, sidecars } from './sidecars.ts'

const ELECTION = ['--leader-election', '--leader-election-namespace=default']
const LEASES_OF = ['external-attacher-leader-csi-example-com', 'external-resizer-csi-example-com']

function run(
  cluster: Cluster,
  flags: readonly string[],
  { signal = new AbortController().signal, program = sidecars, onLog = (_: string): void => {} } = {},
): ReturnType<typeof runInProcess> {
  const where = [`--kubeconfig=${cluster.kubeconfig}`, `--csi-address=${cluster.driver.socket}`]
  return runInProcess(program, [...where, ...flags], { signal, onLog })
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

  it('with --single-lease, the process starts work only when the separate Leases are free', async () => {
    const spec = { holderIdentity: 'go-one', leaseDurationSeconds: 600, renewTime: '2026-01-01T00:00:00.000000Z' }
    const [old = ''] = LEASES_OF
    const metadata = { namespace: 'default', name: old }
    const heldLease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }
    await using cluster = await startCluster({
      objects: [...Object.values(bound()), csiNode(), va(), heldLease],
    })
    const { api, driver } = cluster
    const stop = new AbortController()
    const { promise: waiting, resolve } = Promise.withResolvers<string>()
    const onLog = (text: string): void => {
      if (text.includes('Waiting for a lease of another sidecar')) resolve(text)
    }
    const ended = run(cluster, [...ELECTION, '--single-lease=both'], { signal: stop.signal, onLog })
    expect(await waiting).toContain(`lease="${old} (go-one)"`)
    expect(driver.calls.map(({ method }) => method)).not.toContain('ControllerPublishVolume')
    const ref = { namespace: 'default', name: 'both' }
    expect(api.get(LEASES, ref)).toBeUndefined()
    api.edit(LEASES, { namespace: 'default', name: old }, { spec: { holderIdentity: '' } })
    await api.until(VOLUME_ATTACHMENTS, { name: 'va-1' }, (object) => object?.status?.attached === true)
    expect(api.get(LEASES, ref)?.spec?.holderIdentity).toMatch(/^host/)
    expect(LEASES_OF.map((name) => api.get(LEASES, { ...ref, name })?.spec?.holderIdentity)).toEqual(['', undefined])
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

  it('if the driver does not support a controller, the log suggests a value of --controllers without it', async () => {
    await using cluster = await startCluster()
    cluster.driver.script('GetPluginCapabilities', () => ({ capabilities: [] }))
    const args = ['--controllers=resizer,livenessprobe', '--livenessprobe-health-port=0']
    const { ending, log } = await run(cluster, args)
    expect(ending).not.toEqual({ code: 0 })
    expect(log).toContain('use --controllers=livenessprobe')
    expect(log.trimEnd().split('\n').at(-1)).toContain('The livenessprobe ends with the process')
  })

  it('if the driver cannot expand volumes, a process without the livenessprobe suggests --controllers=attacher', async () => {
    await using cluster = await startCluster({ driver: { controller: ['PUBLISH_UNPUBLISH_VOLUME'], node: [] } })
    const { ending, log } = await run(cluster, [])
    expect(ending).toEqual({ code: 255 })
    expect(log.trimEnd().split('\n').at(-1)).toContain(
      'CSI driver does not support resize nor modify: use --controllers=attacher',
    )
  })
})

describe('the command line of one process', () => {
  it('the help lists every flag of every sidecar in the group of its sidecar', async () => {
    const { ending, stdout, log } = await runInProcess(sidecars, ['--help'])
    expect([ending, stdout]).toEqual([{ code: 0 }, ''])
    const [shared = '', ...groups] = log.split(/^(?=Flags of the )/m)
    expect(shared.match(/ReleaseLeaderElectionOnExit/g)).toHaveLength(1)
    for (const name of ['controllers', 'single-lease', 'csi-address', 'leader-election', 'v']) {
      expect(shared).toContain(`\n  -${name}`)
    }
    const apps = [...CHOICE.byDefault, ...CHOICE.onRequest]
    expect(groups).toHaveLength(apps.length)
    for (const [index, { prefix, flags }] of apps.entries()) {
      const names = [...(groups[index] ?? '').matchAll(/^ {2}-(\S+)/gm)].map(([, name]) => name)
      expect(names).toEqual(expect.arrayContaining(flags.map(({ name }) => `${prefix}-${name}`)))
    }
  })

  it('the process accepts flags with and without the prefix of a sidecar', async () => {
    const args = ['--attacher-timeout=1m', '--resizer-timeout=2m', '--worker-threads=3', '--workers=4', '--version']
    expect((await runInProcess(sidecars, args)).ending).toEqual({ code: 0 })
  })

  it('with one sidecar in --controllers, the process reads the command line as that sidecar does', () => {
    const timeoutOf = (line: string): unknown => {
      const parsed = sidecars.parse({ argv0: 'csi-sidecars', args: line.split(' ') })
      return parsed.kind === 'start' ? [parsed.standard.values.v, parsed.sidecars[0]?.flags.values['timeout']] : parsed
    }
    expect(timeoutOf('--controllers=provisioner -v5 word --timeout=5s')).toEqual([5, 5_000])
    expect(timeoutOf('-v5 --controllers provisioner --provisioner-timeout=5s')).toEqual([5, 5_000])
    expect(timeoutOf('--controllers=provisioner,attacher -v5 --timeout=5s')).toEqual([5, 5_000])
    expect(timeoutOf('--controllers=attacher --controllers=resizer --timeout=5s')).toEqual([0, 5_000])
    expect(timeoutOf('--controllers=attacher -v5')).toMatchObject({ kind: 'refused' })
    expect(timeoutOf('--controllers=snapshotter --worker-threads=-1')).toEqual([0, 60_000])
  })

  it.each([
    [
      '--controllers=attacher,snapshotter --resizer-workers=3',
      'flag -resizer-workers is for controller resizer, which --controllers leaves out',
    ],
    [
      '--controllers=resizer,snapshotter --resync=1m',
      'flag -resync is for controller attacher, which --controllers leaves out',
    ],
    ['--controllers provisioner --nope', 'unknown flag: --nope'],
    ['--single-lease=x', 'flag -single-lease needs -leader-election'],
    [
      '--single-lease=x --leader-election --resizer-leader-election=false',
      'flag -resizer-leader-election is for a lease of its own, and -single-lease is one lease for all',
    ],
    ['--attacher-csi-address=x', 'flag provided but not defined: -attacher-csi-address'],
    [
      '--node-deployment',
      'flag -node-deployment is not for the attacher, which needs a leader: use --controllers=resizer',
    ],
    [
      '--controllers=resizer --node-deployment --leader-election',
      'flag -node-deployment excludes -leader-election: every node works for itself',
    ],
    ['--controllers=resizer --node-name=a', 'flag -node-name has no effect without -node-deployment'],
  ])('the process refuses %s with one line before and one line after the usage', async (line, error) => {
    const { ending, log } = await runInProcess(sidecars, line.split(' '), { env: { NODE_NAME: 'a' } })
    expect(ending).toEqual({ code: 2 })
    const lines = log.trimEnd().split('\n')
    expect([lines[0], lines.at(-1)]).toEqual([error, error])
  })

  it('the process refuses --node-deployment without the name of the node', async () => {
    const { ending, log } = await runInProcess(sidecars, ['--controllers=resizer', '--node-deployment'])
    expect(ending).toEqual({ code: 2 })
    expect(log).toMatch(/^flag -node-deployment needs -node-name or the environment variable NODE_NAME\n/)
  })

  it.each([
    ['--node-name=a', 'a'],
    ['--node-name=', 'b'],
  ])('with %s and NODE_NAME=b, the process acts on the volumes of node %s', async (flag, node) => {
    await using cluster = await startCluster()
    const stop = new AbortController()
    const { promise: watched, resolve } = Promise.withResolvers<string | undefined>()
    cluster.api.requests.subscribe(({ resource, query }) => {
      if (resource === 'nodes') resolve(query['fieldSelector'])
    })
    const where = [`--kubeconfig=${cluster.kubeconfig}`, `--csi-address=${cluster.driver.socket}`]
    const args = [...where, '--controllers=resizer', '--node-deployment', flag]
    const ended = runInProcess(sidecars, args, { env: { NODE_NAME: 'b' }, signal: stop.signal })
    expect(await watched).toBe(`metadata.name=${node}`)
    stop.abort()
    await ended
  })

  it.each([
    ['--feature-gates=Nobodys=true', /"Failed to set feature gates" err=.*Nobodys/],
    [
      '--resizer-feature-gates=MutableCSINodeAllocatableCount=true',
      /"Failed to set feature gates" .* sidecar="csi-resizer"$/,
    ],
  ])('the process refuses %s with 1 and an error line', async (flag, line) => {
    const { ending, log } = await runInProcess(sidecars, [flag])
    expect(ending).toEqual({ code: 1 })
    expect(log.trimEnd().split('\n').at(-1)).toMatch(line)
  })

  it.each([
    ['--http-endpoint=:0 --tls-cert-file=tls.crt', '--tls-cert-file needs --tls-private-key-file'],
    ['--authorize-metrics', '--authorize-metrics needs --http-endpoint'],
    [
      '--http-endpoint=:0 --tls-self-signed --client-ca-file=/none.crt',
      "ENOENT: no such file or directory, open '/none.crt'",
    ],
  ])('the process with %s ends with 1 and one error line', async (line, error) => {
    const { ending, log } = await runInProcess(sidecars, [...line.split(' '), '--kubeconfig=/nonexistent'])
    expect(ending).toEqual({ code: 1 })
    const errors = log
      .trimEnd()
      .split('\n')
      .filter((each) => !each.startsWith('I'))
    expect(errors).toEqual([expect.stringContaining(`"Secure serving configuration is invalid" err="${error}"`)])
  })
})

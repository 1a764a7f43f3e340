import { CancelledError, scope, systemClock } from '@csi-sidecars/base'
import { PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { Ended } from '@csi-sidecars/sidecar/testing'
import { bound, type Cluster, type ClusterOptions, startCluster, storageClass, vac } from '@csi-sidecars/testkit'
import { afterEach, describe, expect, it } from '@jest/globals'
import { resizerToItsEnd, runResizer } from '../src/testing/run-resizer.ts'

let cluster: Cluster

async function begin(options: ClusterOptions = {}): Promise<void> {
  const { claim, volume } = bound()
  cluster = await startCluster({ objects: [storageClass(), claim, volume], ...options })
}

afterEach(() => cluster.stop())

function end(...flags: readonly string[]): Promise<Ended> {
  return resizerToItsEnd({ kubeconfig: cluster.kubeconfig, socket: cluster.driver.socket, flags })
}

/** Runs the resizer until `body` has ended. */
async function during(flags: readonly string[], body: () => Promise<void>): Promise<void> {
  using run = scope()
  const running = runResizer({ kubeconfig: cluster.kubeconfig, socket: cluster.driver.socket, flags }, run.signal)
  try {
    await Promise.race([body(), running])
  } finally {
    run.abort(new CancelledError('the test is over'))
    await running
  }
}

function raise(): void {
  cluster.api.update(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'pvc-1' }, (claim) => ({
    ...claim,
    spec: { ...claim.spec, resources: { requests: { storage: '2Gi' } } },
  }))
}

describe('failing start', () => {
  it.each<[name: string, options: ClusterOptions, flags: readonly string[], code: number, lines: readonly string[]]>([
    [
      'the driver can neither expand nor modify volumes',
      { driver: { controller: [], node: [] } },
      [],
      255,
      ['"Resize not supported"', '"Modify not supported"', '] CSI driver does not support resize nor modify'],
    ],
    [
      'the driver has no controller service',
      { driver: { plugin: [] } },
      [],
      1,
      ['"Failed to create CSI resizer" err="CSI driver does not support controller service"'],
    ],
    [
      '--metrics-address and --http-endpoint are both set',
      {},
      ['--metrics-address=:0', '--http-endpoint=:0'],
      1,
      ['"Only one of `--metrics-address` and `--http-endpoint` can be set."'],
    ],
    [
      'a feature gate does not exist',
      {},
      ['--feature-gates=Topology=true'],
      1,
      ['"Failed to set feature gates" err="unrecognized feature gate: Topology"'],
    ],
    [
      '--modify-timeout is 0',
      {},
      ['--modify-timeout=0'],
      1,
      [
        '"Failed to create CSI modifier" err="failed to check if plugin supports controller modify: error getting controller capabilities: rpc error: code = DeadlineExceeded desc = context deadline exceeded"',
      ],
    ],
    ['the kubeconfig does not exist', {}, ['--kubeconfig=/nowhere'], 1, ['"Failed to create cluster config"']],
  ])('the resizer exits at its start with an error if %s', async (_what, options, flags, code, lines) => {
    await begin(options)
    const { ending, log } = await end(...flags)
    expect(ending).toEqual({ code })
    for (const line of lines) expect(log).toContain(line)
  })
})

describe('start', () => {
  it('the resizer prints its version with --version, whatever the other flags are', async () => {
    await begin()
    expect(await end('--version', '--feature-gates=Topology=true')).toMatchObject({
      ending: { code: 0 },
      stdout: 'csi-resizer v0.0.0\n',
    })
  })

  it('the resizer accepts --feature-gates=RecoverVolumeExpansionFailure=true', async () => {
    await begin()
    await during(['--feature-gates=RecoverVolumeExpansionFailure=true'], async () => {
      raise()
      await cluster.driver.log.until({ method: 'ControllerExpandVolume' })
    })
  })

  it('the resizer asks for the capabilities of the driver at its start, and not again for an expansion', async () => {
    await begin()
    await during([], async () => {
      raise()
      await cluster.driver.log.until({ method: 'ControllerExpandVolume' })
    })
    const calls = cluster.driver.calls.map(({ method }) => method)
    expect(calls).toEqual([
      'Probe',
      'GetPluginInfo',
      'GetPluginCapabilities',
      ...Array<string>(3).fill('ControllerGetCapabilities'),
      'ControllerExpandVolume',
    ])
  })

  it('the resizer sends no request about pods until the driver refuses an expansion', async () => {
    await begin()
    await during([], async () => {
      raise()
      await cluster.driver.log.until({ method: 'ControllerExpandVolume' })
      await systemClock.sleep(50)
    })
    expect(cluster.api.requests.matching({ resource: 'pods' })).toEqual([])
  })
})

describe('missing class', () => {
  const want = (name: string): void => {
    cluster.api.update(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'pvc-1' }, (claim) => ({
      ...claim,
      spec: { ...claim.spec, volumeAttributesClassName: name },
    }))
  }
  const MODIFY_CALL = { method: 'ControllerModifyVolume' }

  it('a modification whose class is missing begins as soon as the class is created', async () => {
    await begin()
    await during([], async () => {
      want('gold')
      const pending = (claim?: PersistentVolumeClaim): boolean =>
        claim?.status?.modifyVolumeStatus?.status === 'Pending'
      await cluster.api.until(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'pvc-1' }, pending)
      cluster.add(vac('gold'))
      await cluster.driver.log.until(MODIFY_CALL, { timeoutMs: 1_000 })
    })
  })

  it('a modification begins within seconds after the resizer gets the permission to read classes', async () => {
    await begin()
    cluster.add(vac('gold'))
    const action = { kind: 'answer' as const, code: 403, reason: 'Forbidden', message: 'not yours to read' }
    const rule = cluster.api.faults.add({ match: { resource: 'volumeattributesclasses' }, action })
    want('gold')
    await during([], async () => {
      raise()
      await cluster.driver.log.until({ method: 'ControllerExpandVolume' })
      // The resizer repeats the refused list of classes after a pause of two seconds.
      await systemClock.sleep(1_800)
      rule.remove()
      await cluster.driver.log.until(MODIFY_CALL, { timeoutMs: 5_000 })
    })
  })
})

describe('stop', () => {
  it('a resizer that is stopped waits for a running call and saves its result', async () => {
    await begin()
    const hold = cluster.driver.faults.hold({ method: 'ControllerExpandVolume' })
    using run = scope()
    const running = runResizer({ kubeconfig: cluster.kubeconfig, socket: cluster.driver.socket }, run.signal)
    raise()
    await hold.arrived
    run.abort(new CancelledError('enough'))
    hold.release()
    await running
    const claim = cluster.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'pvc-1' })
    expect(claim?.status?.allocatedResources).toEqual({ storage: '2Gi' })
    expect(claim?.status?.conditions?.map(({ type }) => type)).not.toContain('ControllerResizeError')
  })

  it.each([['--workers=0'], ['--workers=-1']])('the resizer runs until it is stopped with %s', async (flag) => {
    await begin()
    await during([flag], async () => {
      raise()
      await systemClock.sleep(200)
    })
    expect(cluster.driver.calls.map(({ method }) => method)).not.toContain('ControllerExpandVolume')
  })
})

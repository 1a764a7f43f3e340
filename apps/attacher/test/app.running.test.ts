import { CancelledError, scope } from '@csi-sidecars/base'
import { CSI_NODES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { type Cluster, csiNode, pv, startCluster, va } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runAttacher } from '../src/testing/run-attacher.ts'

const PUBLISH = { method: 'ControllerPublishVolume' }
/** The back-off is longer than a test waits, so a retry cannot cause the expected calls. */
const LONG_RETRIES = ['--retry-interval-start=10m', '--retry-interval-max=10m']

let cluster: Cluster
let run: ReturnType<typeof scope>
let running: Promise<void>
beforeEach(async () => {
  cluster = await startCluster({ objects: [csiNode(), ...['1', '2', '3'].map((number) => pv(`pv-${number}`))] })
  run = scope()
})
afterEach(async () => {
  run.abort(new CancelledError('the test is over'))
  await running
  await cluster.stop()
})

function start(...flags: readonly string[]): void {
  running = runAttacher({ kubeconfig: cluster.kubeconfig, socket: cluster.driver.socket, flags }, run.signal)
}

const attachment = (number: string, node = 'node-1'): ReturnType<typeof va> =>
  va(`va-${number}`, { spec: { nodeName: node, source: { persistentVolumeName: `pv-${number}` } } })

async function attached(name: string): Promise<void> {
  await cluster.api.until(VOLUME_ATTACHMENTS, { name }, (object) => object?.status?.attached === true)
}

async function failed(name: string): Promise<string | undefined> {
  const found = await cluster.api.until(VOLUME_ATTACHMENTS, { name }, (object) => object?.status?.attachError != null)
  return found?.status?.attachError?.message
}

describe('attacher', () => {
  it('the attacher attaches at once when the driver registers on the node', async () => {
    start(...LONG_RETRIES)
    cluster.add(attachment('1', 'node-2'))
    expect(await failed('va-1')).toBe('csinode.storage.k8s.io "node-2" not found')
    cluster.add(csiNode('node-2', { spec: { drivers: [] } }))
    cluster.api.update(CSI_NODES, { name: 'node-2' }, (object) => ({ ...object, spec: csiNode('node-2').spec }))
    await cluster.driver.log.until(PUBLISH, { timeoutMs: 1_000 })
    await attached('va-1')
  })

  it('the attacher attaches at once when the volume is created', async () => {
    start(...LONG_RETRIES)
    cluster.add(attachment('9'))
    expect(await failed('va-9')).toBe('persistentvolume "pv-9" not found')
    cluster.add(pv('pv-9'))
    await cluster.driver.log.until(PUBLISH, { timeoutMs: 1_000 })
    await attached('va-9')
  })

  it('the attacher attaches without an error after the driver has crashed and restarted', async () => {
    start(...LONG_RETRIES)
    const hold = cluster.driver.faults.hold(PUBLISH)
    cluster.add(attachment('1'))
    await hold.arrived
    await cluster.driver.crash()
    hold.release()
    cluster.add(attachment('2'))
    await cluster.driver.restart()
    await attached('va-1')
    await attached('va-2')
    const errors = cluster.api.requests.writes.filter(({ body }) => JSON.stringify(body).includes('attachError'))
    expect(errors).toEqual([])
  })

  it('the attacher attaches as many volumes at the same time as it has workers', async () => {
    start('--worker-threads=2')
    const hold = cluster.driver.faults.hold(PUBLISH)
    cluster.add(attachment('1'), attachment('2'), attachment('3'))
    await cluster.driver.log.until(PUBLISH, { count: 2 })
    hold.release()
    for (const name of ['va-1', 'va-2', 'va-3']) await attached(name)
    expect(cluster.driver.log.mostInFlight).toBe(2)
  })

  it('the attacher runs at most `--max-inflight-per-node` calls for one node', async () => {
    start('--max-inflight-per-node=1')
    cluster.add(csiNode('node-2'))
    const hold = cluster.driver.faults.hold({ ...PUBLISH, nodeId: 'node-1-id' })
    cluster.add(attachment('1'), attachment('2'))
    await hold.arrived
    cluster.add(attachment('3', 'node-2'))
    await attached('va-3')
    expect(cluster.driver.log.matching({ ...PUBLISH, nodeId: 'node-1-id' })).toHaveLength(1)
    hold.release()
    await attached('va-1')
    await attached('va-2')
  })

  it('the attacher waits for a running call before it ends, and stores the result', async () => {
    start()
    const hold = cluster.driver.faults.hold(PUBLISH)
    cluster.add(attachment('1'))
    await hold.arrived
    run.abort(new CancelledError('asked to end'))
    hold.release()
    await running
    expect(cluster.api.get(VOLUME_ATTACHMENTS, { name: 'va-1' })?.status?.attached).toBe(true)
  })

  it('the attacher detaches volumes at its start if their attachments were deleted while it was down', async () => {
    start()
    cluster.add(attachment('1'))
    await attached('va-1')
    run.abort(new CancelledError('asked to end'))
    await running
    cluster.api.delete(VOLUME_ATTACHMENTS, { name: 'va-1' })
    run = scope()
    start()
    await cluster.driver.log.until({ method: 'ControllerUnpublishVolume', code: 0 })
    expect(cluster.driver.log.matching(PUBLISH)).toHaveLength(1)
  })
})

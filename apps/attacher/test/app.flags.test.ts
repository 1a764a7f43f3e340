import { CancelledError, scope } from '@csi-sidecars/base'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { type Cluster, csiNode, pv, startCluster, va } from '@csi-sidecars/testkit'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runAttacher } from '../src/testing/run-attacher.ts'

const PUBLISH = { method: 'ControllerPublishVolume' }
const LIST = { method: 'ListVolumes' }

let cluster: Cluster
let run: ReturnType<typeof scope>
let running: Promise<void>
beforeEach(async () => {
  cluster = await startCluster({ objects: [csiNode(), pv(), va()] })
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

async function first(match: object, count = 1): Promise<Cluster['driver']['calls'][number] | undefined> {
  return (await cluster.driver.log.until(match, { count })).at(-1)
}

describe('flags', () => {
  it('`--default-fstype` sets the file system type of a publish', async () => {
    start('--default-fstype=xfs')
    expect((await first(PUBLISH))?.request).toMatchObject({
      volumeCapability: { accessType: { value: { fsType: 'xfs' } } },
    })
  })

  it('`--timeout` sets the deadline of a call', async () => {
    start('--timeout=3s')
    for (const match of [PUBLISH, LIST]) {
      const allowed = (await first(match))?.deadlineMs ?? 0
      expect(allowed).toBeGreaterThan(2_000)
      expect(allowed).toBeLessThanOrEqual(3_000)
    }
  })

  it('`--max-entries` and `--reconcile-sync` set the page size and the period of ListVolumes', async () => {
    start('--max-entries=7', '--reconcile-sync=20ms')
    expect((await first(LIST, 3))?.request).toMatchObject({ maxEntries: 7, startingToken: '' })
  })

  it('`--reconcile-confirmations` sets the number of listings before a forced publish', async () => {
    start('--reconcile-confirmations=1', '--reconcile-sync=20ms')
    await cluster.api.until(VOLUME_ATTACHMENTS, { name: 'va-1' }, (object) => object?.status?.attached === true)
    cluster.driver.script('ListVolumes', () => ({ entries: [], nextToken: '' }))
    await first(PUBLISH, 2)
  })

  it('`--retry-interval-start` sets the first pause before a failed attach is repeated', async () => {
    cluster.driver.faults.add({ match: PUBLISH, times: 2, action: { kind: 'fail', code: 'INTERNAL' } })
    start('--retry-interval-start=20ms')
    await first({ ...PUBLISH, code: 0 })
  })

  it('`--resync` repeats a failed attach before its back-off ends', async () => {
    cluster.driver.faults.add({ match: PUBLISH, times: 1, action: { kind: 'fail', code: 'INTERNAL' } })
    start('--retry-interval-start=10m', '--retry-interval-max=10m', '--resync=100ms')
    await first({ ...PUBLISH, code: 0 })
  })

  it.each([
    { on: true, errorCode: 13 },
    { on: false, errorCode: undefined },
  ])(
    '`--feature-gates=MutableCSINodeAllocatableCount=$on` stores the errorCode $errorCode',
    async ({ on, errorCode }) => {
      cluster.driver.faults.add({ match: PUBLISH, action: { kind: 'fail', code: 'INTERNAL' } })
      start(`--feature-gates=MutableCSINodeAllocatableCount=${on}`)
      const failed = await cluster.api.until(
        VOLUME_ATTACHMENTS,
        { name: 'va-1' },
        (object) => object?.status?.attachError != null,
      )
      expect(failed?.status?.attachError?.errorCode).toBe(errorCode)
    },
  )
})

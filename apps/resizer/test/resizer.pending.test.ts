import type { PendingWork } from '@csi-sidecars/controller'
import { CODES } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTRIBUTES_CLASSES } from '@csi-sidecars/kube-types'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { attributesClass, CLAIM_REF, claim, volume } from '../src/testing/builders.ts'
import { failing, grown } from '../src/testing/fake-driver.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'

let fixture: ResizerFixture
beforeEach(async () => {
  fixture = new ResizerFixture()
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  await fixture.start()
})
afterEach(() => fixture.kill())

const pending = (): PendingWork[] => [...fixture.process.backlog.pending()]
const seconds = async (operation: string): Promise<number | undefined> => {
  const name = `csi_sidecar_work_duration_seconds_sum{driver_name="csi.example.com",operation="${operation}"}`
  const line = (await fixture.process.metrics.text()).split('\n').find((each) => each.startsWith(name))
  return line === undefined ? undefined : Number(line.slice(name.length))
}

describe('expansion', () => {
  it('an expansion counts as pending until the driver has finished, and then a metric shows its duration', async () => {
    expect(pending()).toEqual([])
    fixture.driver.expand = failing(CODES.Unavailable, 'no')
    await fixture.request('2Gi')
    const since = fixture.clock.now()
    expect(pending()).toMatchObject([
      {
        operation: 'expand',
        object: { kind: 'PersistentVolumeClaim', namespace: 'ns', name: 'data', uid: 'uid-data' },
        volume: 'pv-data',
        state: 'backoff',
        reason: 'Unavailable',
        since,
        tries: 1,
      },
    ])
    fixture.driver.expand = ({ request }) => grown(request, false)
    await fixture.clock.advance(10_000)
    expect(pending()).toEqual([])
    expect(await seconds('expand')).toBeGreaterThan(0)
  })

  it('the age of a pending expansion starts at the last change of the requested size', async () => {
    fixture.driver.expand = failing(CODES.Unavailable, 'no')
    await fixture.request('2Gi')
    await fixture.clock.advance(5_000)
    await fixture.request('3Gi')
    expect(pending()).toMatchObject([{ since: fixture.clock.now(), tries: 1 }])
  })

  it('an expansion stays pending until the kubelet has finished, and its duration counts from the request', async () => {
    fixture.driver.expand = failing(CODES.Unavailable, 'no')
    await fixture.request('2Gi')
    fixture.driver.expand = ({ request }) => grown(request, true)
    await fixture.clock.advance(1_000)
    expect(pending()).toMatchObject([
      { operation: 'node-expand', state: 'waiting', reason: 'NodeResizePending', stuck: false, volume: 'pv-data' },
    ])
    await fixture.clock.advance(600_000)
    expect(pending()[0]?.stuck).toBe(false)
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      status: { capacity: { storage: '2Gi' }, allocatedResourceStatuses: null, conditions: null },
    })
    await fixture.clock.settle()
    expect(pending()).toEqual([])
    expect(await seconds('node-expand')).toBe(601)
  })

  it('an expansion counts as stuck if the kubelet refuses it', async () => {
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      status: { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } },
    })
    await fixture.clock.settle()
    expect(pending()).toMatchObject([{ operation: 'node-expand', reason: 'NodeResizeInfeasible', stuck: true }])
    fixture.cluster.delete(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF)
    await fixture.clock.settle()
    expect(pending()).toEqual([])
  })
})

describe('modification', () => {
  it('a modification is reported as waiting for its class until the class is created', async () => {
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { spec: { volumeAttributesClassName: 'gold' } })
    await fixture.clock.settle()
    expect(pending()).toMatchObject([
      {
        operation: 'modify',
        state: 'waiting',
        reason: 'VolumeAttributesClassMissing',
        waitsFor: ['VolumeAttributesClass gold'],
      },
    ])
    fixture.cluster.store(VOLUME_ATTRIBUTES_CLASSES, attributesClass('gold'))
    await fixture.clock.settle()
    expect(pending()).toEqual([])
    expect(await seconds('modify')).toBe(0)
  })
})

import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { CLAIM_REF, type ClaimFields, claim, VOLUME_REF, type VolumeFields, volume } from '../src/testing/builders.ts'
import { grown, requiredGi } from '../src/testing/fake-driver.ts'
import { type FixtureOptions, ResizerFixture } from '../src/testing/fixture.ts'

const EXPAND = 'ControllerExpandVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'
const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
const NOT_REQUIRED = 'volume.kubernetes.io/node-expansion-not-required'

let fixture: ResizerFixture

async function begin(
  options: FixtureOptions = {},
  fields: ClaimFields = {},
  volumeParts: VolumeFields = {},
): Promise<void> {
  fixture = new ResizerFixture(options)
  fixture.driver.expand = ({ request }) => grown(request, true)
  fixture.cluster.store(PERSISTENT_VOLUMES, volume(volumeParts))
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim(fields))
  await fixture.start()
}

/** Finishes the expansion as the kubelet. */
async function nodeFinishes(size: string): Promise<void> {
  const status = { capacity: { storage: size }, allocatedResourceStatuses: null, conditions: null }
  fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { status })
  await fixture.clock.settle()
}

const preResize = () => fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.metadata?.annotations?.[PRE_RESIZE]

describe('node step', () => {
  it('an expansion that the kubelet must finish makes no further CSI call while the kubelet works', async () => {
    await begin()
    await fixture.request('2Gi')
    fixture.takeWire()
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
    })
    await fixture.clock.advance(60_000)
    expect(fixture.takeWire()).toEqual([])
  })

  it('the resizer removes the annotation with the old size from the volume when the kubelet has finished', async () => {
    await begin()
    await fixture.request('2Gi')
    expect(preResize()).toBe('1Gi')
    fixture.takeWire()
    await nodeFinishes('2Gi')
    expect(fixture.takeWire()).toEqual([VOLUME])
    expect(preResize()).toBeUndefined()
  })

  it('a second expansion starts only when the kubelet has finished the first expansion', async () => {
    await begin()
    await fixture.request('2Gi')
    await fixture.request('3Gi')
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['2Gi'])
    fixture.takeWire()
    await nodeFinishes('2Gi')
    expect(fixture.takeWire()).toEqual([VOLUME, CLAIM, EXPAND, VOLUME, CLAIM])
    expect(fixture.driver.calls.map(requiredGi)).toEqual(['2Gi', '3Gi'])
    expect(preResize()).toBeUndefined()
  })

  it('the annotation on the volume records the old size of the claim, not of the volume', async () => {
    await begin({}, { capacity: '1Gi' }, { capacity: '1536Mi' })
    await fixture.request('2Gi')
    expect(preResize()).toBe('1Gi')
  })

  it('an expansion does not overwrite the old size that the volume already records', async () => {
    await begin({}, { request: '3Gi' }, { annotations: { [PRE_RESIZE]: '512Mi' }, capacity: '2Gi' })
    expect(preResize()).toBe('512Mi')
  })

  it('an expansion records no old size on the volume if the feature gate AnnotateFsResize is off', async () => {
    await begin({ settings: { annotateFsResize: false } })
    await fixture.request('2Gi')
    expect(preResize()).toBeUndefined()
    fixture.takeWire()
    await nodeFinishes('2Gi')
    expect(fixture.takeWire()).toEqual([])
  })

  it('the resizer calls the driver once more if the kubelet refuses the size, and then waits for the kubelet', async () => {
    await begin()
    await fixture.request('2Gi')
    fixture.takeWire()
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, {
      status: { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } },
    })
    await fixture.clock.settle()
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, CLAIM])
    expect(fixture.claim.status?.allocatedResourceStatuses).toEqual({ storage: 'NodeResizePending' })
  })

  it('an expansion that the kubelet must finish removes the annotation `node-expansion-not-required`', async () => {
    await begin({}, { annotations: { [NOT_REQUIRED]: 'true', mine: 'stays' } })
    await fixture.request('2Gi')
    expect(fixture.claim.metadata?.annotations).toEqual({ mine: 'stays' })
  })
})

describe('old size', () => {
  it("the resizer removes the annotation with the old size from another driver's volume too", async () => {
    await begin(
      {},
      { request: '2Gi', capacity: '2Gi' },
      { driver: 'other', capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi', x: 'y' } },
    )
    expect(fixture.takeWire()).toEqual([VOLUME])
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.metadata?.annotations).toEqual({ x: 'y' })
  })

  it('the resizer retries the removal of the annotation with the old size if the API server refuses it', async () => {
    fixture = new ResizerFixture()
    let refusals = 1
    fixture.cluster.before = () => {
      refusals -= 1
      if (refusals === 0) throw new Error('etcd is away')
    }
    fixture.cluster.store(PERSISTENT_VOLUMES, volume({ capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } }))
    fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim({ request: '2Gi', capacity: '2Gi' }))
    await fixture.start()
    expect(fixture.errors).toEqual([
      'Error syncing PVC: failed removing annotation volume.alpha.kubernetes.io/pre-resize-capacity from pv "pv-data": ' +
        'update capacity of PV pv-data failed: etcd is away',
    ])
    await fixture.clock.advance(1_000)
    expect(preResize()).toBeUndefined()
  })
})

describe('late caches', () => {
  it('the resizer removes the annotation with the old size even if its cache shows the annotation late', async () => {
    await begin()
    fixture.caches.volumes.lagging = true
    const fields = { capacity: '2Gi', annotations: { [PRE_RESIZE]: '1Gi' } }
    fixture.cluster.store(PERSISTENT_VOLUMES, volume(fields))
    const change = { spec: { resources: { requests: { storage: '2Gi' } } }, status: { capacity: { storage: '2Gi' } } }
    fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, change)
    await fixture.clock.settle()
    expect(preResize()).toBe('1Gi')
    fixture.caches.volumes.lagging = false
    fixture.caches.volumes.deliver()
    await fixture.clock.settle()
    expect(preResize()).toBeUndefined()
  })

  it('the resizer does not write the annotation with the old size if the claim reaches its size during the call', async () => {
    await begin()
    fixture.driver.expand = ({ request }) => {
      const status = { capacity: { storage: '2Gi' } }
      fixture.cluster.edit(PERSISTENT_VOLUME_CLAIMS, CLAIM_REF, { status })
      return grown(request, true)
    }
    await fixture.request('2Gi')
    expect(fixture.cluster.requests.filter(({ body }) => JSON.stringify(body)?.includes(PRE_RESIZE))).toEqual([])
  })
})

describe('node-only driver', () => {
  it('if only nodes expand volumes, the resizer makes no CSI call', async () => {
    await begin({ expands: 'node' })
    await fixture.request('2G')
    expect(fixture.takeWire()).toEqual([CLAIM, VOLUME, CLAIM])
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity).toEqual({ storage: '2G' })
    expect(fixture.claim.status?.allocatedResourceStatuses).toEqual({ storage: 'NodeResizePending' })
    expect(fixture.takeEvents()).toEqual([
      'Normal Resizing: External resizer is resizing volume pv-data',
      'Normal FileSystemResizeRequired: Require file system resize of volume on node',
    ])
  })

  it('if only nodes expand volumes, a smaller size is accepted after the kubelet has refused a larger size', async () => {
    const fields = { request: '2Gi', allocated: '3Gi', sizeStatus: 'NodeResizeInfeasible' }
    await begin({ expands: 'node' }, fields, { capacity: '3Gi' })
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)?.spec?.capacity).toEqual({ storage: '2Gi' })
  })

  it('if only nodes expand volumes, an expansion continues while the driver is disconnected', async () => {
    await begin({ expands: 'node' })
    fixture.driver.lose()
    await fixture.request('2Gi')
    expect(fixture.takeWire()).toEqual([CLAIM, VOLUME, CLAIM])
  })
})

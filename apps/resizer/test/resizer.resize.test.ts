import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { claim, VOLUME_REF, volume } from '../src/testing/builders.ts'
import { grown } from '../src/testing/fake-driver.ts'
import { ResizerFixture } from '../src/testing/fixture.ts'

const EXPAND = 'ControllerExpandVolume'
const CLAIM = 'persistentvolumeclaims/status'
const VOLUME = 'persistentvolumes'

let fixture: ResizerFixture

beforeEach(async () => {
  fixture = new ResizerFixture()
  fixture.cluster.store(PERSISTENT_VOLUMES, volume())
  fixture.cluster.store(PERSISTENT_VOLUME_CLAIMS, claim())
  await fixture.start()
})

describe('expansion', () => {
  beforeEach(() => fixture.request('2Gi'))

  it('an expansion patches the claim, calls the driver, and patches volume and claim', () => {
    expect(fixture.wire).toEqual([
      {
        target: CLAIM,
        body: {
          metadata: { resourceVersion: expect.any(String) },
          status: {
            allocatedResources: { storage: '2Gi' },
            allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
            conditions: [
              { type: 'Resizing', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' },
            ],
          },
        },
      },
      {
        target: EXPAND,
        body: {
          volumeId: 'handle-data',
          capacityRange: { requiredBytes: 2n ** 31n, limitBytes: 0n },
          secrets: {},
          volumeCapability: {
            accessType: { $case: 'mount', value: { fsType: '', mountFlags: [], volumeMountGroup: '' } },
            accessMode: { mode: 1 },
          },
        },
      },
      { target: VOLUME, body: { metadata: { uid: 'uid-pv-data' }, spec: { capacity: { storage: '2Gi' } } } },
      {
        target: CLAIM,
        body: {
          metadata: {
            resourceVersion: expect.any(String),
            annotations: { 'volume.kubernetes.io/node-expansion-not-required': 'true' },
          },
          status: {
            capacity: { storage: '2Gi' },
            allocatedResourceStatuses: { storage: null },
            conditions: [{ $patch: 'delete', type: 'Resizing' }],
          },
        },
      },
    ])
  })

  it('an expansion records events at its start and at its end', () => {
    expect(fixture.takeEvents()).toEqual([
      'Normal Resizing: External resizer is resizing volume pv-data',
      'Normal VolumeResizeSuccessful: Resize volume succeeded',
    ])
  })

  it('an expansion leaves no temporary status, and causes no further work', async () => {
    expect(fixture.claim.status).toEqual({
      phase: 'Bound',
      capacity: { storage: '2Gi' },
      allocatedResources: { storage: '2Gi' },
    })
    fixture.takeWire()
    await fixture.clock.advance(3_600_000)
    expect(fixture.takeWire()).toEqual([])
  })
})

describe('node step', () => {
  beforeEach(async () => {
    fixture.driver.expand = ({ request }) => grown(request, true)
    await fixture.request('2Gi')
  })

  it('if the kubelet must finish an expansion, the claim shows NodeResizePending, and the volume has the old size', () => {
    expect(fixture.takeWire()).toEqual([CLAIM, EXPAND, VOLUME, CLAIM])
    expect(fixture.cluster.find(PERSISTENT_VOLUMES, VOLUME_REF)).toMatchObject({
      metadata: { annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' } },
      spec: { capacity: { storage: '2Gi' } },
    })
    expect(fixture.claim.status).toMatchObject({
      capacity: { storage: '1Gi' },
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      conditions: [{ type: 'Resizing' }, { type: 'FileSystemResizePending', status: 'True' }],
    })
    expect(fixture.takeEvents()).toContain(
      'Normal FileSystemResizeRequired: Require file system resize of volume on node',
    )
  })
})

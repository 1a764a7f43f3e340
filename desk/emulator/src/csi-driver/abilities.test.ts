import type { CreateVolumeRequest, NodePublishVolumeRequest, VolumeCapability } from '@csi-sidecars/csi-proto'
import { status } from '@grpc/grpc-js'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { EmulatedController } from './controller.ts'
import { EmulatedNode } from './node.ts'
import { DEFAULT_SETTINGS, type DriverSettings } from './settings.ts'
import { Volumes } from './volumes.ts'

let settings: DriverSettings
let volumes: Volumes
let controller: EmulatedController
let node: EmulatedNode

beforeEach(() => {
  settings = { ...DEFAULT_SETTINGS, controller: [...DEFAULT_SETTINGS.controller, 'CLONE_VOLUME'] }
  volumes = new Volumes(settings)
  controller = new EmulatedController(settings, volumes)
  node = new EmulatedNode(settings, volumes)
})

const USE: VolumeCapability = { accessType: { $case: 'block', value: {} }, accessMode: { mode: 1 } }

function create(name: string, change: Partial<CreateVolumeRequest> = {}) {
  return controller.CreateVolume({
    name,
    capacityRange: { requiredBytes: 10n, limitBytes: 0n },
    volumeCapabilities: [USE],
    parameters: {},
    secrets: {},
    volumeContentSource: undefined,
    accessibilityRequirements: undefined,
    mutableParameters: {},
    ...change,
  }).volume
}

const from = (volumeId: string) => ({
  volumeContentSource: { type: { $case: 'volume' as const, value: { volumeId } } },
})

function codeOf(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return (error as { code?: number }).code
  }
}

describe('a clone', () => {
  it('the answer to a clone request names the source, and a second request returns the same clone', () => {
    const source = create('source')?.volumeId ?? ''
    const clone = create('clone', from(source))
    expect(clone?.contentSource).toEqual({ type: { $case: 'volume', value: { volumeId: source } } })
    expect(create('clone', from(source))).toEqual(clone)
    expect(codeOf(() => create('clone'))).toBe(status.ALREADY_EXISTS)
  })

  it('the emulated driver refuses a clone of a missing volume, and a clone that is smaller than its source', () => {
    const source = create('source')?.volumeId ?? ''
    const less = { capacityRange: { requiredBytes: 9n, limitBytes: 0n } }
    expect(codeOf(() => create('clone', { ...from(source), ...less }))).toBe(status.OUT_OF_RANGE)
    expect(codeOf(() => create('clone', from('vol-99')))).toBe(status.NOT_FOUND)
  })

  it('the emulated driver refuses a clone without the capability CLONE_VOLUME', () => {
    settings.controller = DEFAULT_SETTINGS.controller
    expect(codeOf(() => create('clone', from('vol-1')))).toBe(status.INVALID_ARGUMENT)
  })
})

describe('the topology', () => {
  it('NodeGetInfo reports the topology of the node, and a new volume gets the preferred topology', () => {
    settings.topology = { zone: 'east' }
    expect(node.NodeGetInfo().accessibleTopology).toEqual({ segments: { zone: 'east' } })
    const [east, west] = ['east', 'west'].map((zone) => ({ segments: { zone } }))
    const requisite = [east, west].flatMap((each) => each ?? [])
    const made = create('placed', { accessibilityRequirements: { requisite, preferred: requisite.slice(1) } })
    expect(made?.accessibleTopology).toEqual([west])
  })
})

describe('inline volumes', () => {
  const volumeId = `csi-${'0'.repeat(64)}`
  const publish: NodePublishVolumeRequest = {
    volumeId,
    targetPath: '/t',
    stagingTargetPath: '',
    publishContext: {},
    volumeCapability: USE,
    readonly: false,
    secrets: {},
    volumeContext: {},
  }

  it('an inline volume exists from NodePublishVolume to NodeUnpublishVolume, even if the calls are repeated', () => {
    for (let times = 2; times > 0; times -= 1) node.NodePublishVolume(publish)
    expect(volumes.all.map(({ id }) => id)).toEqual([volumeId])
    for (let times = 2; times > 0; times -= 1) node.NodeUnpublishVolume({ volumeId, targetPath: '/t' })
    expect(volumes.all).toEqual([])
  })
})

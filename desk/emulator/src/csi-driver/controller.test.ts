import { VolumeCapability_AccessMode_Mode as Mode, type VolumeCapability } from '@csi-sidecars/csi-proto'
import { status } from '@grpc/grpc-js'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { EmulatedController } from './controller.ts'
import { DriverFailure } from './driver-failure.ts'
import { EmulatedNode } from './node.ts'
import { DEFAULT_SETTINGS, type DriverSettings } from './settings.ts'
import { Volumes } from './volumes.ts'

let settings: DriverSettings
let volumes: Volumes
let controller: EmulatedController
let node: EmulatedNode

beforeEach(() => {
  settings = { ...DEFAULT_SETTINGS, nodes: ['n1', 'n2'] }
  volumes = new Volumes(settings)
  controller = new EmulatedController(settings, volumes)
  node = new EmulatedNode(settings, volumes)
})

const capability = (mode: Mode = Mode.SINGLE_NODE_WRITER): VolumeCapability => ({
  accessType: { $case: 'mount', value: { fsType: 'ext4', mountFlags: [], volumeMountGroup: '' } },
  accessMode: { mode },
})

function create(name: string, requiredBytes = 10n, limitBytes = 0n): string {
  const { volume } = controller.CreateVolume({
    name,
    capacityRange: { requiredBytes, limitBytes },
    volumeCapabilities: [capability()],
    parameters: {},
    secrets: {},
    volumeContentSource: undefined,
    accessibilityRequirements: undefined,
    mutableParameters: {},
  })
  return volume?.volumeId ?? ''
}

function publish(
  volumeId: string,
  nodeId = 'n1',
  { mode, readonly = false }: { mode?: Mode; readonly?: boolean } = {},
): unknown {
  return controller.ControllerPublishVolume({
    volumeId,
    nodeId,
    volumeCapability: capability(mode),
    readonly,
    secrets: {},
    volumeContext: {},
  })
}

const unpublish = (volumeId: string, nodeId: string): unknown =>
  controller.ControllerUnpublishVolume({ volumeId, nodeId, secrets: {} })
const expand = (volumeId: string, requiredBytes: bigint, limitBytes = 0n): unknown =>
  controller.ControllerExpandVolume({
    volumeId,
    capacityRange: { requiredBytes, limitBytes },
    secrets: {},
    volumeCapability: undefined,
  })

/** Returns the status code of a call. */
function refusal(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof DriverFailure) return status[error.code] ?? String(error.code)
    throw error
  }
  return 'OK'
}

describe('volumes', () => {
  it('the emulated driver creates one volume for each name', () => {
    const id = create('a', 10n)
    expect(create('a', 10n)).toBe(id)
    expect(create('b')).not.toBe(id)
    expect(refusal(() => create('a', 11n))).toBe('ALREADY_EXISTS')
    expect(refusal(() => create('a', 1n, 5n))).toBe('ALREADY_EXISTS')
    expect(refusal(() => create(''))).toBe('INVALID_ARGUMENT')
    expect(refusal(() => create('c', 2n ** 60n))).toBe('OUT_OF_RANGE')
    expect(refusal(() => create('c', 10n, 5n))).toBe('OUT_OF_RANGE')
  })

  it('the emulated driver deletes a volume that is attached to no node, and accepts a second deletion', () => {
    const id = create('a')
    publish(id)
    expect(refusal(() => controller.DeleteVolume({ volumeId: id, secrets: {} }))).toBe('FAILED_PRECONDITION')
    unpublish(id, 'n1')
    controller.DeleteVolume({ volumeId: id, secrets: {} })
    expect(refusal(() => controller.DeleteVolume({ volumeId: id, secrets: {} }))).toBe('OK')
    expect(volumes.all).toEqual([])
  })

  it('the emulated driver lists volumes in pages, with the nodes to which they are attached', () => {
    for (const name of ['a', 'b', 'c']) publish(create(name), name === 'b' ? 'n2' : 'n1')
    const first = controller.ListVolumes({ maxEntries: 2, startingToken: '' })
    const rest = controller.ListVolumes({ maxEntries: 2, startingToken: first.nextToken })
    expect([...first.entries, ...rest.entries].map((entry) => entry.status?.publishedNodeIds)).toEqual([
      ['n1'],
      ['n2'],
      ['n1'],
    ])
    expect(rest.nextToken).toBe('')
    expect(refusal(() => controller.ListVolumes({ maxEntries: 1, startingToken: 'x' }))).toBe('ABORTED')
    settings.controller = ['LIST_VOLUMES']
    expect(controller.ListVolumes({ maxEntries: 0, startingToken: '' }).entries[0]?.status?.publishedNodeIds).toEqual(
      [],
    )
  })
})

describe('publishing', () => {
  it.each<[string, () => unknown, string]>([
    ['refuses an unknown volume', () => publish('nothing'), 'NOT_FOUND'],
    ['refuses an unknown node', () => publish(create('a'), 'n9'), 'NOT_FOUND'],
    ['requires a node', () => publish(create('a'), ''), 'INVALID_ARGUMENT'],
    ['requires an access mode', () => publish(create('a'), 'n1', { mode: Mode.UNKNOWN }), 'INVALID_ARGUMENT'],
    ['refuses a second node', () => [publish(create('a')), publish(create('a'), 'n2')], 'FAILED_PRECONDITION'],
    ['accepts a repeated publish to the same node', () => [publish(create('a')), publish(create('a'))], 'OK'],
    [
      'refuses the same node with another readonly flag',
      () => [publish(create('a')), publish(create('a'), 'n1', { readonly: true })],
      'ALREADY_EXISTS',
    ],
    [
      'publishes to many nodes if the access mode allows it',
      () => [
        publish(create('a'), 'n1', { mode: Mode.MULTI_NODE_MULTI_WRITER }),
        publish(create('a'), 'n2', { mode: Mode.MULTI_NODE_MULTI_WRITER }),
      ],
      'OK',
    ],
  ])('the emulated driver %s', (_what, call, expected) => {
    expect(refusal(call)).toBe(expected)
  })

  it('the emulated driver refuses more volumes on a node than `maxVolumesPerNode`', () => {
    settings.maxVolumesPerNode = 1
    publish(create('a'))
    expect(refusal(() => publish(create('b')))).toBe('RESOURCE_EXHAUSTED')
    expect(refusal(() => publish(create('b'), 'n2'))).toBe('OK')
  })

  it('ControllerUnpublishVolume detaches from one node or from all nodes, and accepts unknown volumes', () => {
    const id = create('a')
    publish(id, 'n1', { mode: Mode.MULTI_NODE_MULTI_WRITER })
    publish(id, 'n2', { mode: Mode.MULTI_NODE_MULTI_WRITER })
    unpublish(id, 'n1')
    expect([...(volumes.get(id)?.attachments.keys() ?? [])]).toEqual(['n2'])
    unpublish(id, '')
    expect(volumes.get(id)?.attachments.size).toBe(0)
    expect(refusal(() => unpublish('nothing', 'n1'))).toBe('OK')
    expect(refusal(() => unpublish('', 'n1'))).toBe('INVALID_ARGUMENT')
  })

  it('the emulated driver publishes an unknown volume if `unknownVolumes` is `adopt`', () => {
    settings.unknownVolumes = 'adopt'
    expect(refusal(() => publish('foreign'))).toBe('OK')
    expect(volumes.get('foreign')?.attachments.has('n1')).toBe(true)
  })
})

describe('changes', () => {
  it('the emulated driver grows a volume, never shrinks it, and reports whether the node must expand it', () => {
    const id = create('a', 10n)
    expect(expand(id, 20n)).toEqual({ capacityBytes: 20n, nodeExpansionRequired: true })
    expect(expand(id, 5n)).toEqual({ capacityBytes: 20n, nodeExpansionRequired: true })
    settings.nodeExpansion = false
    expect(expand(id, 30n)).toEqual({ capacityBytes: 30n, nodeExpansionRequired: false })
    expect(refusal(() => expand(id, 50n, 40n))).toBe('OUT_OF_RANGE')
  })

  it('the emulated driver expands only detached volumes if `expansion` is `OFFLINE`', () => {
    settings.expansion = 'OFFLINE'
    const id = create('a')
    publish(id)
    expect(refusal(() => expand(id, 20n))).toBe('FAILED_PRECONDITION')
    unpublish(id, 'n1')
    expect(refusal(() => expand(id, 20n))).toBe('OK')
  })

  it('the emulated driver stores known mutable parameters of a volume, and refuses unknown ones', () => {
    settings.mutableParameters = ['iops']
    const id = create('a')
    controller.ControllerModifyVolume({ volumeId: id, secrets: {}, mutableParameters: { iops: '5' } })
    expect(volumes.get(id)?.mutableParameters).toEqual({ iops: '5' })
    const wrong = { volumeId: id, secrets: {}, mutableParameters: { colour: 'red' } }
    expect(refusal(() => controller.ControllerModifyVolume(wrong))).toBe('INVALID_ARGUMENT')
  })

  it('the emulated driver refuses calls whose capability is switched off', () => {
    settings.controller = []
    expect(refusal(() => expand('x', 1n))).toBe('UNIMPLEMENTED')
    expect(refusal(() => publish('x'))).toBe('UNIMPLEMENTED')
    expect(controller.ControllerGetCapabilities()).toEqual({ capabilities: [] })
  })
})

describe('node service', () => {
  const place = (volumeId: string, targetPath: string, mode?: Mode): unknown =>
    node.NodePublishVolume({
      volumeId,
      targetPath,
      stagingTargetPath: '/stage',
      publishContext: {},
      volumeCapability: capability(mode),
      readonly: false,
      secrets: {},
      volumeContext: {},
    })

  it('NodeGetVolumeStats finds a volume only while it is published', () => {
    const id = create('a')
    const stats = (volumePath: string): unknown =>
      node.NodeGetVolumeStats({ volumeId: id, volumePath, stagingTargetPath: '' })
    expect(refusal(() => stats('/pod'))).toBe('NOT_FOUND')
    place(id, '/pod')
    expect(stats('/pod')).toMatchObject({ usage: [{ total: 10n }] })
    node.NodeUnpublishVolume({ volumeId: id, targetPath: '/pod' })
    expect(refusal(() => stats('/pod'))).toBe('NOT_FOUND')
  })

  it('the emulated driver refuses a second target path if the access mode is SINGLE_NODE_SINGLE_WRITER', () => {
    const id = create('a')
    place(id, '/one', Mode.SINGLE_NODE_SINGLE_WRITER)
    expect(refusal(() => place(id, '/one', Mode.SINGLE_NODE_SINGLE_WRITER))).toBe('OK')
    expect(refusal(() => place(id, '/two', Mode.SINGLE_NODE_SINGLE_WRITER))).toBe('FAILED_PRECONDITION')
  })

  it('NodeExpandVolume refuses a size above the size of the volume in the controller', () => {
    const id = create('a', 10n)
    place(id, '/pod')
    const grow = (requiredBytes: bigint): unknown =>
      node.NodeExpandVolume({
        volumeId: id,
        volumePath: '/pod',
        stagingTargetPath: '',
        capacityRange: { requiredBytes, limitBytes: 0n },
        volumeCapability: undefined,
        secrets: {},
      })
    expect(grow(10n)).toEqual({ capacityBytes: 10n })
    expect(refusal(() => grow(11n))).toBe('OUT_OF_RANGE')
  })
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import type { CreateVolumeRequest, ListVolumesRequest } from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure, type DriverSettings, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { openDriver } from '@csi-sidecars/volume-controllers'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Abilities, type AbilityOptions, learnAbilities } from './abilities.ts'
import { listAll } from './lists.ts'

const signal = new AbortController().signal

let directory: string
let emulated: CsiDriver | undefined
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'abilities-'))
})
afterEach(async () => {
  await emulated?.stop()
  await rm(directory, { recursive: true, force: true })
})

async function start(settings: Partial<DriverSettings> = {}): Promise<CsiDriver> {
  emulated = await startCsiDriver({ ...settings, socket: join(directory, 'csi.sock'), clock: systemClock })
  return emulated
}

const open = ({ address }: CsiDriver) =>
  openDriver({ address, clock: systemClock, log: silentLogger, signal, services: 'controller' })

async function readAbilities(driver: CsiDriver, change: Partial<AbilityOptions> = {}): Promise<Abilities> {
  const direct = await open(driver)
  const usual = { address: driver.address, nodeIds: ['a', 'b'], ownNodes: [], parameters: {}, crash: true }
  const rest = { capabilities: undefined, csiDriver: undefined, clock: systemClock }
  try {
    return await learnAbilities(direct, { ...usual, ...rest, ...change }, signal)
  } finally {
    direct.close()
  }
}

function refuse(driver: CsiDriver, method: string, text: string): void {
  driver.script(method, () => {
    throw new DriverFailure('INVALID_ARGUMENT', text)
  })
}

describe('learnAbilities', () => {
  it('the driver test tries the abilities of a driver, and then deletes its test volumes', async () => {
    const driver = await start()
    const { can, nodes, leftOut } = await readAbilities(driver, { parameters: { type: 'fast' } })
    expect(can).toMatchObject({ expand: true, shared: true, block: true, crash: true })
    expect(can.methods).toHaveLength(5)
    expect(nodes.map(({ nodeId }) => nodeId)).toEqual(['a', 'b'])
    expect(leftOut.map((text) => text.split(':')[0])).toEqual([
      'clones',
      'topology',
      'inline volumes',
      'snapshots',
      'modification',
      'staging and mounting',
    ])
    const [create] = driver.log.matching({ method: 'CreateVolume' })
    expect(create?.request).toMatchObject({ parameters: { type: 'fast' } })
    expect(driver.volumes.all).toEqual([])
  })

  it('a driver that accepts the given volume attributes has the ability to modify volumes', async () => {
    const driver = await start({ mutableParameters: ['tier'] })
    const attributes = [{ tier: 'gold' }, { tier: 'silver' }]
    const { can, leftOut } = await readAbilities(driver, { attributes })
    expect(can).toMatchObject({ attributes, methods: expect.arrayContaining(['ControllerModifyVolume']) })
    expect(leftOut.filter((text) => text.startsWith('modification'))).toEqual([])
    const refused = await readAbilities(driver, { attributes: [{ iops: '1' }] })
    expect(refused.can.attributes).toBeUndefined()
    expect(refused.leftOut).toContainEqual(expect.stringMatching(/^modification: .*mutable parameter "iops" is not/))
    expect(driver.volumes.all).toEqual([])
  })

  it('the abilities of a driver exclude kinds of volumes that the driver refuses or the user excludes, with the reason', async () => {
    const driver = await start()
    driver.script('CreateVolume', ({ volumeCapabilities: [capability], name }: CreateVolumeRequest) => {
      if (capability?.accessType?.$case === 'block') throw new DriverFailure('INVALID_ARGUMENT', 'no raw volumes here')
      const { id } = driver.volumes.add({ name, capacityBytes: 1n })
      const rest = { volumeContext: {}, contentSource: undefined, accessibleTopology: [] }
      return { volume: { volumeId: id, capacityBytes: 1n, ...rest } }
    })
    const { can, leftOut } = await readAbilities(driver, { capabilities: ['block'] })
    expect(can).toMatchObject({ block: false, shared: false })
    expect(leftOut.join('\n')).toMatch(/volumes of mode Block: .*InvalidArgument desc = no raw volumes here/)
    expect(leftOut).toContain('volumes of several nodes: not among --capabilities')
  })

  it('the abilities of a driver exclude features whose capability the driver lacks, with a reason', async () => {
    const driver = await start({ controller: ['CREATE_DELETE_VOLUME'] })
    const { can, leftOut } = await readAbilities(driver, { nodeIds: ['a'], crash: false })
    expect(can).toMatchObject({ expand: false, crash: false, methods: ['CreateVolume', 'DeleteVolume'] })
    const reported = leftOut.join('\n')
    for (const part of ['PUBLISH_UNPUBLISH', 'EXPAND_VOLUME', 'LIST_VOLUMES\n', '--node-ids', '--driver-command']) {
      expect(reported).toContain(part)
    }
    await driver.stop()
    const offline = await start({ expansion: 'OFFLINE' })
    expect((await readAbilities(offline)).leftOut).toContain(
      'expansion: the driver expands volumes only while they are not in use',
    )
  })

  it('the abilities of a driver include clones only if the driver creates a clone, which the test then deletes', async () => {
    const driver = await start()
    driver.settings.controller = [...driver.settings.controller, 'CLONE_VOLUME']
    expect((await readAbilities(driver)).can.clone).toBe(true)
    driver.script('CreateVolume', (request: CreateVolumeRequest) => {
      if (request.volumeContentSource !== undefined) throw new DriverFailure('INTERNAL', 'no copies today')
      return driver.usualAnswer('CreateVolume', request)
    })
    const { can, leftOut } = await readAbilities(driver)
    expect(can.clone).toBe(false)
    expect(leftOut.join('\n')).toMatch(/clones: .*no copies today/)
    expect(driver.volumes.all).toEqual([])
  })

  it('the abilities of a driver include zones if the driver and its nodes report a topology', async () => {
    const driver = await start({ plugin: ['CONTROLLER_SERVICE', 'VOLUME_ACCESSIBILITY_CONSTRAINTS'] })
    expect((await readAbilities(driver)).leftOut).toContain('topology: no node says where it is; --node asks them')
    driver.settings.topology = { zone: 'east' }
    const zones = [{ nodes: ['node-1'], segments: { zone: 'east' } }]
    expect((await readAbilities(driver, { nodeIds: [] })).can.zones).toEqual(zones)
    expect((await readAbilities(driver, { nodeIds: [], capabilities: ['block'] })).can.zones).toBeUndefined()
  })

  it('the tested methods include node calls for given node sockets, but no attach if the CSIDriver requires none', async () => {
    const driver = await start()
    const node = await openDriver({ address: driver.address, clock: systemClock, log: silentLogger, signal })
    const info = { nodeId: 'n', maxVolumesPerNode: 0n, accessibleTopology: undefined }
    const ownNodes = [{ address: driver.address, driver: node, info }]
    const csiDriver = { metadata: { name: 'd' }, spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] } }
    const { can, nodes, leftOut } = await readAbilities(driver, { nodeIds: [], ownNodes, csiDriver })
    node.close()
    expect([can.inline, nodes]).toEqual([true, [info]])
    expect(can.methods).toEqual(expect.arrayContaining(['NodeStageVolume', 'NodeExpandVolume']))
    expect(can.methods).not.toContain('ControllerPublishVolume')
    expect(leftOut).toContain('attaching: the CSIDriver says that it is not required')
    const without = await readAbilities(driver, { nodeIds: [], ownNodes })
    expect(without.leftOut).toContain('inline volumes: no --csidriver has Ephemeral among its volumeLifecycleModes')
  })

  it('a driver that cannot create volumes causes an error when its abilities are tested', async () => {
    const driver = await start()
    refuse(driver, 'CreateVolume', 'parameter pool is required')
    await expect(readAbilities(driver)).rejects.toThrow(
      `the driver at ${driver.address} creates no volume: rpc error: code = InvalidArgument desc = parameter pool is required`,
    )
    driver.script('CreateVolume', () => ({ volume: undefined }))
    await expect(readAbilities(driver)).rejects.toThrow('creates no volume: CreateVolume succeeded and names no volume')
    await driver.stop()
    const other = await start({ controller: ['LIST_VOLUMES'] })
    await expect(readAbilities(other)).rejects.toThrow('lacks CREATE_DELETE_VOLUME')
  })

  it('the node IDs come from NodeGetInfo or the flag `--node-ids`, and an error occurs without both', async () => {
    const driver = await start()
    expect((await readAbilities(driver, { nodeIds: [] })).nodes.map(({ nodeId }) => nodeId)).toEqual(['node-1'])
    refuse(driver, 'NodeGetInfo', 'there is none')
    await expect(readAbilities(driver, { nodeIds: [] })).rejects.toThrow(
      /does not answer NodeGetInfo: .*there is none; name the nodes that it knows by --node-ids/,
    )
  })
})

describe('listAll', () => {
  it('`listAll` returns the volumes of all pages of ListVolumes', async () => {
    const driver = await start()
    driver.volumes.add({ name: 'one', capacityBytes: 1n })
    driver.volumes.add({ name: 'two', capacityBytes: 2n })
    const all = driver.volumes.all.map(({ id, capacityBytes }) => ({
      volume: { volumeId: id, capacityBytes, volumeContext: {}, contentSource: undefined, accessibleTopology: [] },
      status: { publishedNodeIds: ['a'], volumeCondition: undefined },
    }))
    driver.script('ListVolumes', ({ startingToken }: ListVolumesRequest) =>
      startingToken === '' ? { entries: all.slice(0, 1), nextToken: '1' } : { entries: all.slice(1), nextToken: '' },
    )
    const direct = await open(driver)
    const volumes = [
      { id: 'vol-1', capacity: 1n, nodes: ['a'] },
      { id: 'vol-2', capacity: 2n, nodes: ['a'] },
    ]
    expect(await listAll(direct, 'Volume', signal)).toEqual({ kind: 'list', listed: volumes })
    direct.close()
  })

  it('`listAll` returns a reason after an error, and after 1000 pages', async () => {
    const driver = await start()
    const direct = await open(driver)
    refuse(driver, 'ListVolumes', 'never')
    expect(await listAll(direct, 'Volume', signal)).toEqual({
      kind: 'failure',
      why: 'InvalidArgument "never"',
      isRetryable: false,
    })
    driver.script('ListVolumes', () => {
      throw new DriverFailure('ABORTED', 'busy')
    })
    expect(await listAll(direct, 'Volume', signal)).toEqual({
      kind: 'failure',
      why: 'Aborted "busy"',
      isRetryable: true,
    })
    driver.script('ListVolumes', () => ({ entries: [], nextToken: 'again' }))
    const why = 'it has no end, there are more than 1000 pages'
    expect(await listAll(direct, 'Volume', signal)).toEqual({ kind: 'endless', why, isRetryable: false })
    direct.close()
  })
})

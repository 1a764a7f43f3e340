import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import {
  ControllerExpandVolume,
  ControllerModifyVolume,
  ControllerPublishVolume,
  ControllerUnpublishVolume,
  CreateSnapshot,
  CreateVolume,
  DeleteSnapshot,
  DeleteVolume,
  ListSnapshots,
  ListVolumes,
  NodeExpandVolume,
  NodeGetVolumeStats,
  NodePublishVolume,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
  type UnaryMethod,
  type Volume,
  type VolumeCapability,
  type VolumeContentSource,
  VolumeUsage_Unit,
} from '@csi-sidecars/csi-proto'
import type { CsiDriver } from '@csi-sidecars/emulator'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { callsTwiceAtOnce } from '../results/calls.ts'
import { startDirectoryDriver } from './driver.ts'
import type { Machine } from './machine.ts'

const GIB = 1024n ** 3n
const SINGLE_NODE_WRITER = 1
const SINGLE_NODE_SINGLE_WRITER = 6

const mounted = (mountFlags: string[] = [], mode = SINGLE_NODE_WRITER): VolumeCapability => ({
  accessType: { $case: 'mount', value: { fsType: '', mountFlags, volumeMountGroup: '' } },
  accessMode: { mode: mode as 1 },
})
const BLOCK: VolumeCapability = {
  accessType: { $case: 'block', value: {} },
  accessMode: { mode: SINGLE_NODE_WRITER },
}

/** A machine that needs no root: it remembers mounts and loop devices, and copies files. */
class FakeMachine implements Machine {
  readonly commands: string[] = []
  readonly points: { root: string; point: string }[] = []
  /** The files of the loop devices, by device. */
  readonly devices = new Map<string, string>()
  /** The number of questions about a loop device for which another process still has a detached device open. */
  openFor = 0
  /** The program that fails at its next run. */
  fails: string | undefined
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async mounts(): Promise<readonly { root: string; point: string }[]> {
    return this.points
  }

  async loopDeviceOf(end: string): Promise<string | undefined> {
    const device = [...this.devices].find(([, file]) => file.endsWith(end))?.[0]
    if (device !== undefined && this.commands.at(-1) === `losetup --detach ${device}`) this.#closeLater(device)
    return device
  }

  async run(program: string, ...args: readonly string[]): Promise<string> {
    this.commands.push([program, ...args].join(' '))
    if (this.fails === program) {
      this.fails = undefined
      throw new Error(`${program} has failed`)
    }
    const last = args.at(-1) ?? ''
    switch (program) {
      case 'cp':
        cpSync(args.at(-2) ?? '', last, { recursive: true })
        return ''
      case 'mount':
        this.points.push({ root: args.at(-2) ?? '', point: last })
        return ''
      case 'umount':
        this.points.splice(
          this.points.findIndex(({ point }) => point === last),
          1,
        )
        return ''
      default:
        return this.#loop(args[0] ?? '', last)
    }
  }

  #closeLater(device: string): void {
    this.openFor -= 1
    if (this.openFor === 0) this.devices.delete(device)
  }

  #loop(action: string, last: string): string {
    if (action === '--detach' && this.openFor === 0) this.devices.delete(last)
    if (action !== '--find') return ''
    // The driver opens the device before it copies the file.
    const device = join(this.#folder, `loop${this.devices.size}`)
    writeFileSync(device, '')
    this.devices.set(device, last)
    return device
  }
}

let folder: string
let state: string
let machine: FakeMachine
let driver: CsiDriver
let client: Client
let ids: number
let log: (line: string) => void

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'directories-'))
  state = join(folder, 'state')
  machine = new FakeMachine(folder)
  ids = 0
  log = () => undefined
  await start()
})

afterEach(async () => {
  await stop()
  rmSync(folder, { recursive: true })
})

async function start(): Promise<void> {
  const socket = join(folder, 'csi.sock')
  const newId = (prefix: string): string => {
    ids += 1
    return `${prefix}-${ids}`
  }
  const options = { name: 'd', nodeId: 'n1', socket, stateFolder: state, newId, machine }
  driver = await startDirectoryDriver({ ...options, log: (line) => log(line) })
  client = new Client(`unix:${socket}`, credentials.createInsecure())
}

async function stop(): Promise<void> {
  client.close()
  await driver.stop()
}

function call<Q, R>(method: UnaryMethod<Q, R>, request: Q): Promise<R> {
  const deadline = systemClock.now() + 30_000
  return new Promise((resolve, reject) => {
    const { path, requestSerialize, responseDeserialize } = method
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error, response) => {
      if (error !== null || response === undefined) reject(error)
      else resolve(response)
    })
  })
}

const codeOf = (error: unknown): number => (error as ServiceError).code

interface RequestedVolume {
  readonly capability?: VolumeCapability
  readonly source?: VolumeContentSource
}

async function create(name: string, { capability = mounted(), source }: RequestedVolume = {}): Promise<Volume> {
  const { volume } = await call(CreateVolume, {
    name,
    capacityRange: { requiredBytes: GIB, limitBytes: 0n },
    volumeCapabilities: [capability],
    parameters: {},
    secrets: {},
    volumeContentSource: source,
    accessibilityRequirements: undefined,
    mutableParameters: {},
  })
  if (volume === undefined) throw new Error('CreateVolume has answered without a volume')
  return volume
}

const remove = (volumeId: string) => call(DeleteVolume, { volumeId, secrets: {} })
const dataOf = (kind: string, id: string): string => join(state, kind, id, 'data')
const idsOf = (kind: string): readonly string[] => readdirSync(join(state, kind))

async function snapshot(sourceVolumeId: string): Promise<string> {
  const answer = await call(CreateSnapshot, {
    name: 's',
    sourceVolumeId,
    secrets: {},
    parameters: {},
    accessibilityRequirements: undefined,
  })
  return answer.snapshot?.snapshotId ?? ''
}

function publish(volumeId: string, capability: VolumeCapability, { readonly = false, target = 'target' } = {}) {
  return call(NodePublishVolume, {
    volumeId,
    publishContext: {},
    stagingTargetPath: join(folder, 'staging'),
    targetPath: join(folder, target),
    volumeCapability: capability,
    readonly,
    secrets: {},
    volumeContext: {},
  })
}

function stage(volumeId: string, capability: VolumeCapability) {
  return call(NodeStageVolume, {
    volumeId,
    publishContext: {},
    stagingTargetPath: join(folder, 'staging'),
    volumeCapability: capability,
    secrets: {},
    volumeContext: {},
  })
}

const unpublish = (volumeId: string) => call(NodeUnpublishVolume, { volumeId, targetPath: join(folder, 'target') })
const unstage = (volumeId: string) => call(NodeUnstageVolume, { volumeId, stagingTargetPath: join(folder, 'staging') })

describe('volumes and snapshots', () => {
  it('a snapshot and a clone have the data of their source at the time of the call', async () => {
    const { volumeId } = await create('v')
    writeFileSync(join(dataOf('volumes', volumeId), 'file'), 'first')
    const snapshotId = await snapshot(volumeId)
    writeFileSync(join(dataOf('volumes', volumeId), 'file'), 'second')
    const restored = await create('restored', { source: { type: { $case: 'snapshot', value: { snapshotId } } } })
    const clone = await create('clone', { source: { type: { $case: 'volume', value: { volumeId } } } })
    expect(readFileSync(join(dataOf('volumes', restored.volumeId), 'file'), 'utf8')).toBe('first')
    expect(readFileSync(join(dataOf('volumes', clone.volumeId), 'file'), 'utf8')).toBe('second')
  })

  it('a repeated creation returns the same volume and keeps its data', async () => {
    const { volumeId } = await create('v')
    writeFileSync(join(dataOf('volumes', volumeId), 'file'), 'written')
    expect((await create('v')).volumeId).toBe(volumeId)
    expect(readFileSync(join(dataOf('volumes', volumeId), 'file'), 'utf8')).toBe('written')
  })

  it('volumes, snapshots, attachments, sizes and parameters survive the process', async () => {
    const deleted = await create('deleted')
    await remove(deleted.volumeId)
    const { volumeId } = await create('v')
    await snapshot(volumeId)
    await call(ControllerPublishVolume, {
      volumeId,
      nodeId: 'n1',
      volumeCapability: mounted(),
      readonly: false,
      secrets: {},
      volumeContext: {},
    })
    const range = { requiredBytes: 2n * GIB, limitBytes: 0n }
    await call(ControllerExpandVolume, { volumeId, capacityRange: range, secrets: {}, volumeCapability: undefined })
    await call(ControllerModifyVolume, { volumeId, secrets: {}, mutableParameters: { tier: 'gold' } })
    const list = () =>
      Promise.all([
        call(ListVolumes, { maxEntries: 0, startingToken: '' }),
        call(ListSnapshots, { maxEntries: 0, startingToken: '', sourceVolumeId: '', snapshotId: '', secrets: {} }),
      ])
    const before = await list()
    expect(before[0].entries).toMatchObject([
      { volume: { volumeId, capacityBytes: 2n * GIB }, status: { publishedNodeIds: ['n1'] } },
    ])
    await stop()
    await start()
    expect(await list()).toEqual(before)
    expect(driver.volumes.get(volumeId)?.mutableParameters).toEqual({ tier: 'gold' })
  })

  it('unfinished work of a killed process is removed at the start', async () => {
    const { volumeId } = await create('v')
    await stop()
    for (const name of ['incoming', 'removed']) mkdirSync(join(state, name, 'vol-x', 'data'), { recursive: true })
    await start()
    expect(['incoming', 'removed', 'volumes'].map(idsOf)).toEqual([[], [], [volumeId]])
  })

  it('a copy that fails leaves no volume, and the next call creates it', async () => {
    const { volumeId } = await create('v')
    const source: VolumeContentSource = { type: { $case: 'volume', value: { volumeId } } }
    machine.fails = 'cp'
    expect(await create('clone', { source }).catch(codeOf)).toBe(status.INTERNAL)
    expect([idsOf('volumes'), idsOf('incoming')]).toEqual([[volumeId], []])
    const { entries } = await call(ListVolumes, { maxEntries: 0, startingToken: '' })
    expect(entries).toHaveLength(1)
    expect(await create('clone', { source })).toMatchObject({ capacityBytes: GIB })
  })

  it('a deletion removes the data, and succeeds again', async () => {
    const { volumeId } = await create('v')
    const snapshotId = await snapshot(volumeId)
    for (let count = 0; count < 2; count += 1) {
      await call(DeleteSnapshot, { snapshotId, secrets: {} })
      await remove(volumeId)
    }
    expect(['volumes', 'snapshots', 'removed'].map(idsOf)).toEqual([[], [], []])
  })

  it('the driver keeps a mounted volume, even if its record says that nothing is mounted', async () => {
    const { volumeId } = await create('v')
    machine.points.push({ root: `/elsewhere/volumes/${volumeId}/data`, point: '/unknown' })
    expect(await remove(volumeId).catch(codeOf)).toBe(status.FAILED_PRECONDITION)
    machine.points.pop()
    await remove(volumeId)
    expect(idsOf('volumes')).toEqual([])
  })

  it('the driver refuses a name or a source with another access type', async () => {
    const { volumeId } = await create('v')
    expect(await create('v', { capability: BLOCK }).catch(codeOf)).toBe(status.ALREADY_EXISTS)
    const source: VolumeContentSource = { type: { $case: 'volume', value: { volumeId } } }
    expect(await create('b', { capability: BLOCK, source }).catch(codeOf)).toBe(status.INVALID_ARGUMENT)
  })

  it('the driver creates volumes on its node only', async () => {
    expect((await create('v')).accessibleTopology).toEqual([{ segments: { 'topology.d/node': 'n1' } }])
  })
})

describe('directories', () => {
  it('a directory is mounted with the options of the request', async () => {
    const { volumeId } = await create('v')
    const capability = mounted(['noatime'])
    await stage(volumeId, capability)
    await publish(volumeId, capability, { readonly: true })
    const data = dataOf('volumes', volumeId)
    expect(machine.commands).toEqual([
      `mount -o bind,noatime ${data} ${join(folder, 'staging')}`,
      `mount -o bind,noatime,ro ${data} ${join(folder, 'target')}`,
    ])
  })

  it('repeated calls of the node service mount once, and unmount once', async () => {
    const { volumeId } = await create('v')
    const twice = async (step: () => Promise<unknown>): Promise<void> => {
      await step()
      await step()
    }
    await twice(() => stage(volumeId, mounted()))
    await twice(() => publish(volumeId, mounted()))
    expect(machine.points).toHaveLength(2)
    await twice(() => unpublish(volumeId))
    await twice(() => unstage(volumeId))
    expect(machine.points).toEqual([])
    expect(readdirSync(folder)).not.toContain('target')
  })

  it('the driver refuses an option that is not for a directory', async () => {
    const { volumeId } = await create('v')
    expect(await publish(volumeId, mounted(['data=journal'])).catch(codeOf)).toBe(status.INVALID_ARGUMENT)
    expect(machine.points).toEqual([])
  })

  it('a failed unmount keeps the record and the data', async () => {
    const { volumeId } = await create('v')
    await publish(volumeId, mounted())
    writeFileSync(join(dataOf('volumes', volumeId), 'file'), '')
    machine.fails = 'umount'
    expect(await unpublish(volumeId).catch(codeOf)).toBe(status.INTERNAL)
    expect(await remove(volumeId).catch(codeOf)).toBe(status.FAILED_PRECONDITION)
    await unpublish(volumeId)
    expect(readdirSync(dataOf('volumes', volumeId))).toEqual(['file'])
  })

  it('the driver removes no files from a target without a mount', async () => {
    const { volumeId } = await create('v')
    mkdirSync(join(folder, 'target'))
    writeFileSync(join(folder, 'target', 'file'), '')
    expect(await unpublish(volumeId).catch(codeOf)).toBe(status.INTERNAL)
    expect(readdirSync(join(folder, 'target'))).toEqual(['file'])
  })

  it('a volume with a single writer can be published again after its node was killed', async () => {
    const capability = mounted([], SINGLE_NODE_SINGLE_WRITER)
    const { volumeId } = await create('v', { capability })
    await publish(volumeId, capability)
    expect(await publish(volumeId, capability, { target: 'other' }).catch(codeOf)).toBe(status.FAILED_PRECONDITION)
    machine.points.length = 0
    await publish(volumeId, capability, { target: 'other' })
    expect(machine.points).toHaveLength(1)
  })

  it('NodeGetVolumeStats reports the file system of the directory', async () => {
    const { volumeId } = await create('v')
    await publish(volumeId, mounted())
    const request = { volumeId, volumePath: join(folder, 'target'), stagingTargetPath: '' }
    const { usage } = await call(NodeGetVolumeStats, request)
    expect(usage.map(({ unit }) => unit)).toEqual([VolumeUsage_Unit.BYTES, VolumeUsage_Unit.INODES])
    expect(usage[0]?.total).toBeGreaterThan(0n)
  })

  it('an inline volume exists from its first publish to its last unpublish', async () => {
    const volumeId = `csi-${'a'.repeat(64)}`
    await publish(volumeId, mounted())
    expect([machine.points.length, idsOf('volumes')]).toEqual([1, [volumeId]])
    await unpublish(volumeId)
    expect([machine.points.length, idsOf('volumes')]).toEqual([0, []])
  })
})

describe('block volumes', () => {
  it('a block volume is a sparse file with one loop device while it is staged', async () => {
    const { volumeId } = await create('v', { capability: BLOCK })
    expect(statSync(dataOf('volumes', volumeId)).size).toBe(Number(GIB))
    await stage(volumeId, BLOCK)
    await stage(volumeId, BLOCK)
    await publish(volumeId, BLOCK)
    const [device = ''] = machine.devices.keys()
    expect(machine.devices.size).toBe(1)
    expect(machine.points).toEqual([{ root: device, point: join(folder, 'target') }])
    expect(await remove(volumeId).catch(codeOf)).toBe(status.FAILED_PRECONDITION)
    await unpublish(volumeId)
    await unstage(volumeId)
    expect(machine.devices.size).toBe(0)
  })

  it('an unstaged block volume can be deleted at once, although another process had its loop device open', async () => {
    const { volumeId } = await create('v', { capability: BLOCK })
    await stage(volumeId, BLOCK)
    machine.openFor = 2
    await unstage(volumeId)
    await remove(volumeId)
    expect([machine.devices.size, idsOf('volumes')]).toEqual([0, []])
  })

  it('an expansion grows the file, and then the loop device', async () => {
    const { volumeId } = await create('v', { capability: BLOCK })
    await publish(volumeId, BLOCK)
    const capacityRange = { requiredBytes: 2n * GIB, limitBytes: 0n }
    await call(ControllerExpandVolume, { volumeId, capacityRange, secrets: {}, volumeCapability: undefined })
    expect(statSync(dataOf('volumes', volumeId)).size).toBe(Number(2n * GIB))
    const { capacityBytes } = await call(NodeExpandVolume, {
      volumeId,
      volumePath: join(folder, 'target'),
      capacityRange,
      stagingTargetPath: '',
      volumeCapability: undefined,
      secrets: {},
    })
    expect(capacityBytes).toBe(2n * GIB)
    expect(machine.commands.at(-1)).toBe(`losetup --set-capacity ${[...machine.devices.keys()][0]}`)
  })

  it('a detached volume can be unpublished from its node again', async () => {
    const { volumeId } = await create('v')
    const request = { volumeId, nodeId: 'n1', secrets: {} }
    expect(await call(ControllerUnpublishVolume, request)).toEqual({})
    await remove(volumeId)
    expect(await call(ControllerUnpublishVolume, request)).toEqual({})
  })
})

it('the log shows that a call arrived while the same call was running, and has no secret', async () => {
  const { volumeId } = await create('v')
  const lines: string[] = []
  const { promise: bothArrived, resolve } = Promise.withResolvers<void>()
  log = (line) => {
    lines.push(line)
    if (lines.filter((each) => each.endsWith('/DeleteVolume')).length === 2) resolve()
  }
  machine.mounts = () => bothArrived.then(() => [])
  const again = () => call(DeleteVolume, { volumeId, secrets: { key: 'hidden' } })
  await Promise.all([again(), again()])
  expect(callsTwiceAtOnce(lines.join('\n'))).toEqual([`/csi.v1.Controller/DeleteVolume ${volumeId}`])
  await again()
  expect(callsTwiceAtOnce(lines.join('\n'))).toHaveLength(1)
  expect(lines.join()).not.toContain('hidden')
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { type CsiDriver, DriverFailure, type DriverSettings, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FOLDER, ownNodes } from '../testing/own-nodes.ts'
import { zonesOf } from './abilities.ts'
import { nodeLacks, nodeMethods, OwnNodes, openOwnNodes } from './nodes.ts'

const signal = new AbortController().signal

let directory: string
let stack: AsyncDisposableStack
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nodes-'))
  stack = new AsyncDisposableStack()
})
afterEach(async () => {
  await stack.disposeAsync()
  await rm(directory, { recursive: true, force: true })
})

async function start(name: string, settings: Partial<DriverSettings> = {}): Promise<CsiDriver> {
  const socket = join(directory, `${name}.sock`)
  return stack.use(await startCsiDriver({ nodeId: name, ...settings, socket, clock: systemClock }))
}

const open = (...drivers: readonly CsiDriver[]) =>
  openOwnNodes(
    drivers.map(({ address }) => address),
    { name: 'csi.example.com', clock: systemClock, log: silentLogger, stack },
    signal,
  )

describe('openOwnNodes', () => {
  it('node services with separate sockets provide the node IDs and topologies', async () => {
    const nodes = await open(await start('a'), await start('b', { topology: { zone: 'east' } }))
    expect(nodes.map(({ info }) => [info.nodeId, info.accessibleTopology?.segments])).toEqual([
      ['a', undefined],
      ['b', { zone: 'east' }],
    ])
  })

  it('a node socket of another driver, or two sockets of one node, cause an error', async () => {
    const a = await start('a')
    await expect(open(await start('b', { name: 'other' }))).rejects.toThrow(
      /b.sock calls itself other, and that of the controller csi.example.com$/,
    )
    const twin = await start('twin', { nodeId: 'a' })
    await expect(open(a, twin)).rejects.toThrow(`${a.address} and ${twin.address} are both of node a`)
    a.script('NodeGetInfo', () => {
      throw new DriverFailure('INTERNAL', 'who knows')
    })
    await expect(open(a)).rejects.toThrow(/a.sock does not answer NodeGetInfo: .*who knows/)
  })

  it('node services with separate sockets use one folder each, so that a path shows its node', () => {
    const nodes = ownNodes(['a', 'b'])
    expect(nodes.at(`${FOLDER}/node-2/x`)?.info.nodeId).toBe('b')
    expect(nodes.at(`${FOLDER}/node-3/x`)).toBeUndefined()
    expect(nodes.at('/elsewhere/node-1/x')).toBeUndefined()
    expect([nodes.shortened(`${FOLDER}/node-2/x`), nodes.shortened('/y')]).toEqual(['node-2/x', '/y'])
    expect(nodes.shortened(`${FOLDER}/node-2/${'0123456789abcdef'.repeat(4)}/x`)).toBe('node-2/0123456789ab.../x')
  })

  it('node services with separate sockets get only calls that they support, and the report lists missing capabilities', async () => {
    const all = new OwnNodes(await open(await start('a')), FOLDER)
    expect([nodeMethods(all).length, nodeLacks(all)]).toEqual([5, []])
    const less = new OwnNodes(await open(await start('b', { node: [] })), FOLDER)
    expect(nodeMethods(less)).toEqual(['NodePublishVolume', 'NodeUnpublishVolume'])
    expect(nodeLacks(less).join()).toMatch(/STAGE_UNSTAGE_VOLUME.*EXPAND_VOLUME.*GET_VOLUME_STATS/)
    const played = new OwnNodes([], FOLDER)
    expect([nodeMethods(played), nodeLacks(played).length]).toEqual([[], 1])
  })
})

describe('zonesOf', () => {
  const at = (...zones: readonly (string | undefined)[]) =>
    zonesOf(
      zones.map((zone) => ({
        nodeId: '',
        maxVolumesPerNode: 0n,
        accessibleTopology: zone === undefined ? undefined : { segments: { zone } },
      })),
    )

  it('nodes with the same topology form one zone', () => {
    expect(at('east', 'west', 'east')).toEqual([
      { nodes: ['node-1', 'node-3'], segments: { zone: 'east' } },
      { nodes: ['node-2'], segments: { zone: 'west' } },
    ])
  })

  it('nodes form no zones if one of them reports no topology', () => {
    expect([at('east', undefined), at()]).toEqual([[], []])
  })
})

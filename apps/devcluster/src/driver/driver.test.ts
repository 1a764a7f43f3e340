import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import {
  NodeExpandVolume,
  NodeGetInfo,
  NodeServiceCapability_RPC_Type as NodeRpc,
  Probe,
} from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { openDriver } from './driver.ts'
import { withStandInNode } from './stand-in-node.ts'

const LIMITS = { timeoutMs: 10_000 }

let directory: string
let emulated: CsiDriver
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'driver-'))
  emulated = await startCsiDriver({ socket: join(directory, 'csi.sock'), clock: systemClock })
})
afterEach(async () => {
  await emulated.stop()
  await rm(directory, { recursive: true, force: true })
})

const open = (nodeService?: boolean) =>
  openDriver({
    address: emulated.address,
    clock: systemClock,
    log: silentLogger,
    signal: new AbortController().signal,
    ...(nodeService !== undefined && { nodeService }),
  })

const refuse = (method: string): void =>
  emulated.script(method, () => {
    throw new DriverFailure('UNIMPLEMENTED', 'there is none')
  })

describe('a driver that is opened', () => {
  it.each(['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities', 'NodeGetCapabilities'])(
    'and does not answer %s is told by its address and the call',
    async (method) => {
      refuse(method)
      await expect(open()).rejects.toThrow(`the CSI driver at ${emulated.address} does not answer ${method}: `)
      await expect(open()).rejects.toThrow('there is none')
    },
  )

  it('need not have a node service where it is not wanted', async () => {
    refuse('NodeGetCapabilities')
    const driver = await open(false)
    expect(driver.capabilities.node).toEqual(new Set())
    driver.close()
  })
})

describe('a driver whose node service is played', () => {
  it('expands on the node and answers for it, and is asked for everything else', async () => {
    const driver = withStandInNode(await open(false))
    expect(driver.capabilities.node).toEqual(new Set([NodeRpc.EXPAND_VOLUME]))
    const before = emulated.calls.length
    const request = { volumeId: 'v', volumePath: '/p', capacityRange: undefined, stagingTargetPath: '', secrets: {} }
    expect(await driver.call(NodeExpandVolume, { ...request, volumeCapability: undefined }, LIMITS)).toEqual({
      capacityBytes: 0n,
    })
    expect((await driver.call(NodeGetInfo, {}, LIMITS)).nodeId).toBe('')
    expect(emulated.calls).toHaveLength(before)
    await driver.call(Probe, {}, LIMITS)
    expect(emulated.calls).toHaveLength(before + 1)
    driver.close()
  })
})

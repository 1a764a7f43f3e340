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
import { type OpenDriverOptions, openDriver, withSubstituteNode } from './driver.ts'

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

const open = (services?: OpenDriverOptions['services']) =>
  openDriver({
    address: emulated.address,
    clock: systemClock,
    log: silentLogger,
    signal: new AbortController().signal,
    ...(services !== undefined && { services }),
  })

const refuse = (method: string): void =>
  emulated.script(method, () => {
    throw new DriverFailure('UNIMPLEMENTED', 'there is none')
  })

describe('openDriver', () => {
  it.each(['Probe', 'GetPluginInfo', 'GetPluginCapabilities', 'ControllerGetCapabilities', 'NodeGetCapabilities'])(
    "an error names the driver's address and the call if the driver does not answer %s",
    async (method) => {
      refuse(method)
      await expect(open()).rejects.toThrow(`the CSI driver at ${emulated.address} does not answer ${method}: `)
      await expect(open()).rejects.toThrow('there is none')
    },
  )

  it.each(['Probe', 'GetPluginCapabilities'])(
    'the driver client reconnects if the driver dies during %s',
    async (method) => {
      let deaths = 0
      emulated.script(method, async () => {
        deaths += 1
        emulated.script(method, undefined)
        await emulated.crash()
        await emulated.restart()
        return {}
      })
      const driver = await open()
      expect([driver.name, deaths]).toEqual(['csi.example.com', 1])
      driver.close()
    },
  )

  it('a driver without a node service can be opened if only the controller is requested', async () => {
    refuse('NodeGetCapabilities')
    const driver = await open('controller')
    expect(driver.capabilities.node).toEqual(new Set())
    driver.close()
  })
})

describe('node socket', () => {
  it('an advertised controller service is ignored if only the node service is requested', async () => {
    refuse('ControllerGetCapabilities')
    const driver = await open('node')
    expect(driver.capabilities.controller).toEqual(new Set())
    expect(driver.capabilities.node?.has(NodeRpc.STAGE_UNSTAGE_VOLUME)).toBe(true)
    driver.close()
  })
})

describe('withSubstituteNode', () => {
  it('an emulated node service answers node calls, and forwards other calls to the driver', async () => {
    const driver = withSubstituteNode(await open('controller'))
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

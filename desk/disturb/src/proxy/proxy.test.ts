import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { type Connection, connect, controllerClient, RpcError } from '@csi-sidecars/csi'
import { CreateVolume, type CreateVolumeRequest, DeleteVolume } from '@csi-sidecars/csi-proto'
import { type CsiDriver, DriverFailure, startCsiDriver } from '@csi-sidecars/emulator'
import { silentLogger } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { CallFault, ProxiedCall } from './call.ts'
import { type DriverProxy, startProxy } from './proxy.ts'

const LIMITS = { timeoutMs: 10_000 }
const REQUEST: CreateVolumeRequest = {
  name: 'pvc',
  parameters: {},
  secrets: {},
  mutableParameters: {},
  capacityRange: undefined,
  volumeCapabilities: [{ accessType: { $case: 'block', value: {} }, accessMode: { mode: 1 } }],
  volumeContentSource: undefined,
  accessibilityRequirements: undefined,
}

let directory: string
let driver: CsiDriver
let proxy: DriverProxy
let connection: Connection
let reported: ProxiedCall[]
let faults: CallFault[]
let mayComeAgain: boolean

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxy-'))
  reported = []
  faults = []
  mayComeAgain = true
  driver = await startCsiDriver({ socket: join(directory, 'driver.sock'), clock: systemClock })
  proxy = await startProxy({
    socket: join(directory, 'proxy.sock'),
    driver: driver.socket,
    clock: systemClock,
    choose: () => faults.shift(),
    report: (call) => reported.push(call),
    mayComeAgain: () => mayComeAgain,
  })
  connection = await open()
})
afterEach(async () => {
  connection.close()
  await proxy.stop()
  await driver.stop()
  await rm(directory, { recursive: true, force: true })
})

const open = (): Promise<Connection> => connect({ address: proxy.address, clock: systemClock, log: silentLogger })
const create = () => connection.call(CreateVolume, REQUEST, LIMITS)
const ended = () => reported.filter(({ end }) => end !== undefined)
const codeOf = (error: unknown): number | undefined => (error instanceof RpcError ? error.code : undefined)

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await systemClock.sleep(5)
}

describe('startProxy', () => {
  it('the proxy forwards calls, and reports each call when it begins and when it has ended', async () => {
    const { volume } = await create()
    expect(volume?.volumeId).toBe('vol-1')
    const [begun, done] = reported
    expect(begun).toMatchObject({ method: 'CreateVolume', request: { name: 'pvc' }, end: undefined, fault: undefined })
    expect(done).toMatchObject({ id: begun?.id, code: 0, response: { volume: { volumeId: 'vol-1' } } })
  })

  it("the proxy forwards the driver's error message with its non-ASCII characters", async () => {
    const message = 'größer als 100 % "frei"'
    driver.script('CreateVolume', () => {
      throw new DriverFailure('OUT_OF_RANGE', message)
    })
    await expect(create()).rejects.toMatchObject({ code: 11, details: message })
    expect(ended()).toMatchObject([{ code: 11, message, response: undefined }])
  })

  it('the proxy forwards the deadline of a call to the driver', async () => {
    await create()
    expect(driver.calls[0]?.deadlineMs).toBeGreaterThan(5_000)
  })

  it('the proxy can drop the answer of a call that the driver has performed', async () => {
    faults.push({ kind: 'loseAnswer' })
    expect(codeOf(await create().catch((error: unknown) => error))).toBe(14)
    expect([driver.volumes.all.length, ended().map(({ code, fault }) => [code, fault])]).toEqual([
      1,
      [[0, 'loseAnswer']],
    ])
    expect(connection.lost.aborted).toBe(false)
  })

  it('the proxy can repeat a call, and returns the second answer', async () => {
    driver.script('CreateVolume', () => ({ volume: volumeOf(driver.calls.length) }))
    faults.push({ kind: 'repeat' })
    expect((await create()).volume?.volumeId).toBe('2')
    expect(driver.calls.map(({ method }) => method)).toEqual(['CreateVolume', 'CreateVolume'])
  })

  it('the proxy returns the first answer if all repetitions of the call fail', async () => {
    driver.script('CreateVolume', () => {
      if (driver.calls.length > 1) throw new DriverFailure('INTERNAL', 'again?')
      return { volume: volumeOf(1) }
    })
    faults.push({ kind: 'repeat' })
    expect((await create()).volume?.volumeId).toBe('1')
    expect(ended().map(({ code }) => code)).toEqual([0, 13, 13, 13])
  })

  it('the proxy can delay a call', async () => {
    faults.push({ kind: 'delay', ms: 50 })
    const start = systemClock.monotonic()
    await create()
    expect((driver.calls[0]?.start ?? 0) - start).toBeGreaterThanOrEqual(49)
  })

  it('the proxy can break the connection while the driver works on a call', async () => {
    const working = Promise.withResolvers<object>()
    driver.script('CreateVolume', () => working.promise)
    faults.push({ kind: 'cut' })
    expect(codeOf(await create().catch((error: unknown) => error))).toBe(14)
    await eventually(() => connection.lost.aborted)
    await eventually(() => ended().length === 1)
    expect(ended()).toMatchObject([{ code: undefined, fault: 'cut' }])
    working.resolve({})
    driver.script('CreateVolume', undefined)
    connection = await open()
    expect((await create()).volume?.volumeId).toBe('vol-1')
  })

  it('other calls for a volume wait until a late repetition of a call by the proxy has ended', async () => {
    const volumeId = (await create()).volume?.volumeId ?? ''
    const client = controllerClient(connection)
    const unpublish = () => client.unpublish({ volumeId, nodeId: 'a', secrets: {} }, LIMITS)
    const answers: (() => void)[] = []
    driver.script('ControllerUnpublishVolume', () => new Promise((resolve) => answers.push(() => resolve({}))))
    faults.push({ kind: 'repeatLate', ms: 20 })
    const first = unpublish()
    await eventually(() => answers.length === 1)
    answers[0]?.()
    await first
    await eventually(() => answers.length === 2)
    const deleted = connection.call(DeleteVolume, { volumeId, secrets: {} }, LIMITS)
    await systemClock.sleep(50)
    expect(driver.calls.map(({ method }) => method)).not.toContain('DeleteVolume')
    answers[1]?.()
    await deleted
    mayComeAgain = false
    faults.push({ kind: 'repeatLate', ms: 1 })
    const last = unpublish()
    await eventually(() => answers.length === 3)
    answers[2]?.()
    await last
    await systemClock.sleep(50)
    expect(answers).toHaveLength(3)
  })

  it('the proxy ends the connections of its clients when the driver ends, and accepts new ones after its restart', async () => {
    await driver.crash()
    await eventually(() => connection.lost.aborted)
    await driver.restart()
    connection = await open()
    expect((await create()).volume?.volumeId).toBe('vol-1')
  })

  it('the proxy cancels the call to the driver when its caller cancels', async () => {
    driver.script('CreateVolume', () => new Promise(() => undefined))
    const caller = new AbortController()
    // The deadline is longer than the test, so it does not end the call.
    const call = connection.call(CreateVolume, REQUEST, { timeoutMs: 600_000, signal: caller.signal })
    await eventually(() => driver.calls.length === 1)
    caller.abort(new Error('no more'))
    await expect(call).rejects.toThrow()
    await eventually(() => driver.calls[0]?.code === 1)
    await eventually(() => ended().length === 1)
  })
})

function volumeOf(id: number) {
  return {
    volumeId: String(id),
    capacityBytes: 1n,
    volumeContext: {},
    contentSource: undefined,
    accessibleTopology: [],
  }
}

import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { mkdtemp, rename } from 'node:fs/promises'
import { connect, type ServerHttp2Stream } from 'node:http2'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { ControllerExpandVolume, ControllerPublishVolume, ListVolumes, type UnaryMethod } from '@csi-sidecars/csi-proto'
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type CsiDriver, startCsiDriver } from './server.ts'
import { framed, GRPC_HEADERS } from './server-call.ts'

let directory: string
let driver: CsiDriver
let client: Client

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'driver-'))
  driver = await startCsiDriver({ socket: join(directory, 'csi.sock'), nodes: ['n1', 'n2'] })
  driver.volumes.add({ id: 'v1', name: 'v1', capacityBytes: 10n })
  client = new Client(`unix:${driver.socket}`, credentials.createInsecure())
})

afterEach(async () => {
  client.close()
  await driver.stop()
  rmSync(directory, { recursive: true })
})

function call<Q, R>(method: UnaryMethod<Q, R>, request: Q, timeoutMs = 5_000): Promise<R> {
  const deadline = systemClock.now() + timeoutMs
  return new Promise((resolve, reject) => {
    const { path, requestSerialize, responseDeserialize } = method
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error, response) => {
      if (error !== null || response === undefined) reject(error)
      else resolve(response)
    })
  })
}

const code = (error: unknown): number => (error as ServiceError).code

const publication = (nodeId: string, mode: 1 | 5 = 1) => ({
  volumeId: 'v1',
  nodeId,
  volumeCapability: { accessType: { $case: 'block' as const, value: {} }, accessMode: { mode } },
  readonly: false,
  secrets: {},
  volumeContext: {},
})

test('a second publish to the same node succeeds, and a publish to another node is refused', async () => {
  await call(ControllerPublishVolume, publication('n1'))
  await call(ControllerPublishVolume, publication('n1'))
  expect(await call(ControllerPublishVolume, publication('n2')).catch(code)).toBe(status.FAILED_PRECONDITION)
  expect(await call(ControllerPublishVolume, publication('n1', 5)).catch(code)).toBe(status.ALREADY_EXISTS)
  expect(await call(ControllerPublishVolume, publication('n9')).catch(code)).toBe(status.NOT_FOUND)
  const { entries } = await call(ListVolumes, { maxEntries: 0, startingToken: '' })
  expect(entries).toMatchObject([{ volume: { volumeId: 'v1' }, status: { publishedNodeIds: ['n1'] } }])
})

test('the call log has the deadline, the times and the code of each call', async () => {
  await call(ControllerPublishVolume, publication('n1'), 3_000)
  const [logged] = driver.calls
  expect(logged).toMatchObject({
    method: 'ControllerPublishVolume',
    code: 0,
    request: { volumeId: 'v1', nodeId: 'n1' },
  })
  expect(logged?.deadlineMs).toBeGreaterThan(2_000)
  expect(logged?.deadlineMs).toBeLessThanOrEqual(3_000)
  expect(logged?.end).toBeGreaterThanOrEqual(logged?.start ?? Infinity)
})

test('a fault rule with `applied` fails a call that the driver has carried out', async () => {
  driver.faults.add({
    times: 1,
    action: { kind: 'fail', code: 'ABORTED', message: 'no', retryAfterMs: 1500, applied: true },
  })
  const error = await call(ControllerPublishVolume, publication('n1')).catch((thrown: ServiceError) => thrown)
  expect(error).toMatchObject({ code: status.ABORTED, details: 'no' })
  expect(driver.volumes.get('v1')?.attachments.has('n1')).toBe(true)
})

test('a call that the fault `hang` leaves unanswered ends at its deadline', async () => {
  driver.faults.add({ action: { kind: 'hang' } })
  expect(await call(ControllerPublishVolume, publication('n1'), 100).catch(code)).toBe(status.DEADLINE_EXCEEDED)
  await driver.log.until({ code: status.CANCELLED })
})

test('the fault `raw` answers with the frames of a function', async () => {
  const answer = (stream: ServerHttp2Stream): void => {
    stream.respond({ ...GRPC_HEADERS, 'grpc-status': '8', 'grpc-message': ' a\u00ff' }, { endStream: true })
  }
  driver.faults.add({ times: 1, action: { kind: 'raw', answer } })
  const error = await call(ControllerPublishVolume, publication('n1')).catch((thrown: ServiceError) => thrown)
  expect(error).toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  expect(driver.volumes.get('v1')?.attachments.size).toBe(0)
  expect(driver.calls.map((each) => each.code)).toEqual([status.UNKNOWN])
})

test('a call for an unknown method or service fails with Unimplemented', async () => {
  for (const path of ['/csi.v1.Controller/Unknown', '/csi.v1.Unknown/ListVolumes']) {
    const unknown = { ...ListVolumes, path }
    expect(await call(unknown, { maxEntries: 0, startingToken: '' }).catch(code)).toBe(status.UNIMPLEMENTED)
  }
})

test('requests that are compressed, incomplete or no protobuf are refused', async () => {
  const session = connect('http://localhost', { createConnection: () => createConnection(driver.socket) })
  const codeOf = async (body: Buffer): Promise<unknown> => {
    const stream = session.request({ ':method': 'POST', ':path': ListVolumes.path })
    stream.end(body)
    const [headers] = await once(stream, 'response')
    stream.destroy()
    return headers['grpc-status']
  }
  expect(await codeOf(framed(Buffer.from('x'), 1))).toBe(String(status.UNIMPLEMENTED))
  expect(await codeOf(framed(Buffer.from('half')).subarray(0, 6))).toBe(String(status.INTERNAL))
  expect(await codeOf(Buffer.alloc(0))).toBe(String(status.INTERNAL))
  expect(await codeOf(framed(Buffer.from([0xff])))).toBe(String(status.INTERNAL))
  session.destroy()
  expect(driver.calls).toEqual([])
})

test('an invalid answer of a script fails the call with Internal', async () => {
  driver.script('ListVolumes', () => ({ entries: 1 }))
  const error = await call(ListVolumes, { maxEntries: 0, startingToken: '' }).catch((thrown: ServiceError) => thrown)
  expect(error).toMatchObject({ code: status.INTERNAL, details: expect.stringContaining('the response is not valid') })
})

test('requests and answers of many megabytes arrive whole', async () => {
  const startingToken = 'x'.repeat(8_000_000)
  driver.script('ListVolumes', (request: { startingToken: string }) => ({
    entries: [],
    nextToken: request.startingToken,
  }))
  const options = { 'grpc.max_receive_message_length': -1 }
  client.close()
  client = new Client(`unix:${driver.socket}`, credentials.createInsecure(), options)
  expect((await call(ListVolumes, { maxEntries: 0, startingToken })).nextToken).toBe(startingToken)
})

test('two concurrent restarts of the driver start only one server', async () => {
  await driver.crash()
  await Promise.all([driver.restart(), driver.restart()])
  await driver.crash()
  await expect(driver.restart()).resolves.toBeUndefined()
})

test('concurrent crashes and restarts of the driver run one after the other', async () => {
  const steps = Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? driver.crash() : driver.restart()))
  await Promise.all(steps)
  await call(ControllerPublishVolume, publication('n1'))
})

test('an attachment survives a crash of the driver before the answer to ControllerPublishVolume', async () => {
  driver.faults.add({ match: { volumeId: 'v1' }, times: 1, action: { kind: 'crash', applied: true } })
  expect(await call(ControllerPublishVolume, publication('n1')).catch(code)).toBe(status.UNAVAILABLE)
  await driver.restart()
  client.close()
  client = new Client(`unix:${driver.socket}`, credentials.createInsecure())
  const { entries } = await call(ListVolumes, { maxEntries: 0, startingToken: '' })
  expect(entries[0]?.status?.publishedNodeIds).toEqual(['n1'])
})

test('`script` replaces the answer of a method, and the settings can disable a capability of the emulated driver', async () => {
  const request = {
    volumeId: 'v1',
    capacityRange: { requiredBytes: 20n, limitBytes: 0n },
    secrets: {},
    volumeCapability: undefined,
  }
  driver.script('ControllerExpandVolume', () => ({ capacityBytes: 99n, nodeExpansionRequired: false }))
  expect(await call(ControllerExpandVolume, request)).toEqual({ capacityBytes: 99n, nodeExpansionRequired: false })
  driver.script('ControllerExpandVolume', undefined)
  expect(await call(ControllerExpandVolume, request)).toEqual({ capacityBytes: 20n, nodeExpansionRequired: true })
  driver.settings.controller = []
  expect(await call(ControllerExpandVolume, request).catch(code)).toBe(status.UNIMPLEMENTED)
})

test('a script gets the entry of its call, with the headers of the client', async () => {
  driver.script('ListVolumes', (_request: object, { method, headers }) => ({
    entries: [],
    nextToken: `${method} ${headers['content-type']}`,
  }))
  const { nextToken } = await call(ListVolumes, { maxEntries: 0, startingToken: '' })
  expect(nextToken).toBe('ListVolumes application/grpc')
})

test('a call that the client gives up before the answer is abandoned in the log', async () => {
  const hold = driver.faults.hold({ method: 'ListVolumes' })
  expect(await call(ListVolumes, { maxEntries: 0, startingToken: '' }, 100).catch(code)).toBe(status.DEADLINE_EXCEEDED)
  await driver.log.until({ code: status.CANCELLED })
  hold.release()
  await call(ListVolumes, { maxEntries: 0, startingToken: '' })
  expect(driver.calls.map(({ isAbandoned }) => isAbandoned)).toEqual([true, undefined])
})

test('a socket path that is too long for clients is refused', async () => {
  const path = join(directory, 'x'.repeat(107 - directory.length))
  await expect(startCsiDriver({ socket: path })).rejects.toThrow(`${path}: the path of a socket has 107 bytes at most`)
  expect(readdirSync(directory)).toEqual(['csi.sock'])
  const withLongestPath = await startCsiDriver({ socket: path.slice(0, -1) })
  await withLongestPath.stop()
})

test('the driver does not replace a file or the socket of another process', async () => {
  const file = join(directory, 'notes')
  writeFileSync(file, 'kept')
  await expect(startCsiDriver({ socket: file })).rejects.toThrow(`${file} exists and is no socket`)
  expect(readFileSync(file, 'utf8')).toBe('kept')
  await expect(startCsiDriver({ socket: driver.socket })).rejects.toThrow('is the socket of another process')
  expect((await call(ListVolumes, { maxEntries: 0, startingToken: '' })).entries).toHaveLength(1)
})

test('the driver calls `prepare` before its socket exists', async () => {
  const socket = join(directory, 'prepared.sock')
  const seen: string[] = []
  const prepared = await startCsiDriver({ socket, prepare: () => seen.push(...readdirSync(directory)) })
  expect(seen).toEqual(['csi.sock'])
  await prepared.stop()
})

test('`stop` does not delete the socket of another driver at the same path', async () => {
  const otherDirectory = await mkdtemp(join(directory, 'other-'))
  const other = await startCsiDriver({ socket: join(otherDirectory, 'csi.sock') })
  await rename(other.socket, driver.socket)
  await driver.stop()
  expect(readdirSync(directory)).toEqual(['csi.sock', basename(otherDirectory)])
  await other.stop()
  expect(readdirSync(otherDirectory)).toEqual([])
})

test('`stop` deletes the socket, and a start in a missing folder fails', async () => {
  await driver.stop()
  expect(readdirSync(directory)).toEqual([])
  await expect(startCsiDriver({ socket: join(directory, 'none', 'csi.sock') })).rejects.toThrow('ENOENT')
})

test('the driver writes only to the folder of its socket', async () => {
  const folder = await mkdtemp(join(directory, 'inner-'))
  const changed: (string | null)[] = []
  const outside = watch(directory, (_, name) => changed.push(name))
  const other = await startCsiDriver({ socket: join(folder, 'csi.sock') })
  await other.stop()
  writeFileSync(join(directory, 'last'), '')
  while (!changed.includes('last')) await once(outside, 'change')
  outside.close()
  expect(changed.filter((name) => name !== basename(folder) && name !== 'last')).toEqual([])
})

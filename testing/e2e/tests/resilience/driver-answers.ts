import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { join } from 'node:path'
import { ControllerPublishVolume } from '@csi-sidecars/csi-proto'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { framed, GRPC_HEADERS, RawDriver, refuse, reply } from '../../harness/driver/raw-driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attached, attachFailed, getAttachment, LISTS, scene } from '../attacher/scene.ts'

const test = testsOf('attacher', 'answers of a driver', { only: 'ours' })
/** Tests that also run with the originals. */
const shared = testsOf('attacher', 'answers of a driver')

interface RawScene {
  readonly driver: RawDriver
  readonly attacher: RunningSidecar
  readonly node: string
}

const CALLS_THAT_FAIL = 40

/** Starts the attacher with a driver on plain HTTP/2. */
async function rawScene(t: TestContext, args: readonly string[] = []): Promise<RawScene> {
  const driver = new RawDriver(join(t.folder, 'raw.sock'), t.driverName)
  await driver.start()
  const node = await t.createNode('node')
  const attacher = await t.sidecar({ args: [`--csi-address=${driver.socket}`, ...args] })
  await t.watching(attacher, 'volumeattachments', 'persistentvolumes', 'csinodes')
  return { driver, attacher, node }
}

test('a publish context that is not UTF-8 fails the call with a clear text', async (t) => {
  const { driver, node } = await rawScene(t)
  driver.answers['ControllerPublishVolume'] = (stream) => reply(stream, Buffer.from('0a060a01611201ff', 'hex'))
  await attach(t, { node })
  const { status } = await attachFailed(t)
  equal(
    status?.attachError?.message,
    'rpc error: code = Internal desc = grpc: failed to unmarshal the received message: string field contains invalid UTF-8',
  )
  equal([status?.attached, status?.attachmentMetadata], [false, undefined])
  driver.kill()
})

test('a publish context keeps the key __proto__', async (t) => {
  const { driver, node } = await rawScene(t)
  const publishContext = JSON.parse('{"__proto__":"a","constructor":"b"}')
  driver.answers['ControllerPublishVolume'] = (stream) =>
    reply(stream, ControllerPublishVolume.responseSerialize({ publishContext }))
  await attach(t, { node })
  equal(JSON.stringify((await attached(t)).status?.attachmentMetadata), '{"__proto__":"a","constructor":"b"}')
  driver.kill()
})

test('a driver whose name is not UTF-8 ends the start with a clear text', async (t) => {
  const driver = new RawDriver(join(t.folder, 'raw.sock'), t.driverName)
  await driver.start()
  driver.answers['GetPluginInfo'] = (stream) => reply(stream, Buffer.from('0a0361fe62', 'hex'))
  const sidecar = await t.sidecar({ args: [`--csi-address=${driver.socket}`] })
  equal((await sidecar.end()).code, 1)
  match(sidecar.lines.at(-1) ?? '', /"Failed to get the CSI driver name" err=".*string field contains invalid UTF-8"/)
  driver.kill()
})

test('an error text of 100 KiB fails all calls of that moment, and they are retried', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=1s', '--retry-interval-max=5s'] })
  const big = t.name('pv-big-handle')
  let refusals = 0
  const refuses = (volume: unknown): boolean => volume === big && refusals++ < 3
  at.driver.on('ControllerPublishVolume', ({ request }) =>
    refuses(request['volume_id'])
      ? { code: 13, message: 'x'.repeat(100 * 1024), after: 200 }
      : { reply: { publishContext: {} }, after: 500 },
  )
  const others = await Promise.all(['-0', '-1', '-2'].map((suffix) => attach(t, at, { suffix })))
  others.push(await attach(t, at, { suffix: '-big', pv: { csi: { volumeHandle: big } } }))
  await eventually('all attached', async () => {
    const objects = await Promise.all(others.map(({ va }) => getAttachment(t, va)))
    return objects.every(({ status }) => status?.attached === true)
  })
  const lost = at.attacher.linesWith('"Lost connection"')
  equal(lost.length, 3)
  match(lost[0] ?? '', /err=".*an error text of more than 64 KiB does that"/)
})

shared('an error text of 57 KB that repeats itself costs little time', async (t) => {
  const { driver, node, attacher } = await rawScene(t, ['--retry-interval-start=10ms', '--retry-interval-max=20ms'])
  const message = `${'triggered by internal client error: '.repeat(1600)}%0A`
  driver.answers['ControllerPublishVolume'] = (stream) => refuse(stream, { code: 13, message })
  await attach(t, { node })
  await eventually('calls', () => driver.callsOf('ControllerPublishVolume').length >= CALLS_THAT_FAIL)
  const cpuSeconds = (await attacher.metrics()).value('process_cpu_seconds_total') ?? Infinity
  ok(cpuSeconds < 4, `${cpuSeconds} s of CPU`)
  driver.answers['ControllerPublishVolume'] = (stream) => reply(stream, Buffer.alloc(0))
  await attached(t)
  driver.kill()
})

test('a compressed answer is Internal with a text, here and in the metrics', async (t) => {
  const { driver, node, attacher } = await rawScene(t)
  driver.answers['ControllerPublishVolume'] = (stream) => {
    stream.respond({ ...GRPC_HEADERS, 'grpc-encoding': 'snappy' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    stream.end(framed(Buffer.from([0x0a, 0]), 1))
  }
  await attach(t, { node })
  const { status } = await attachFailed(t)
  const text = 'rpc error: code = Internal desc = the answer is compressed in a way that is not supported'
  equal(status?.attachError?.message, text)
  const metrics = await attacher.metrics()
  const labels = { grpc_status_code: 'Internal', method_name: '/csi.v1.Controller/ControllerPublishVolume' }
  ok((metrics.value('csi_sidecar_operations_seconds_count', labels) ?? 0) > 0)
  driver.kill()
})

test('an error message that is not ASCII is kept despite an unreadable header', async (t) => {
  const { driver, node, attacher } = await rawScene(t, ['--logging-format=json'])
  const bytes = (text: string): string => Buffer.from(text).toString('latin1')
  driver.answers['ControllerPublishVolume'] = (stream) =>
    refuse(stream, { code: 3, message: bytes('kein Gerät'), 'x-trace': bytes('ü') })
  await attach(t, { node })
  const { status } = await attachFailed(t)
  equal(status?.attachError?.message, 'rpc error: code = InvalidArgument desc = kein Gerät')
  for (const line of attacher.lines) equal(typeof JSON.parse(line).msg, 'string')
  ok(attacher.linesWith('Failed to add metadata entry x-trace').length > 0)
  driver.kill()
})

test('a listing that never ends is aborted, with a line', async (t) => {
  const driver = await t.driver({ controller: LISTS })
  driver.on('ListVolumes', (_, nth) => ({ reply: { entries: [], nextToken: `${nth}` } }))
  const sidecar = await t.sidecar({ driver, args: ['--reconcile-sync=1s'] })
  await sidecar.line('failed to ListVolumes: the driver', { within: 60_000 })
  equal(driver.callsOf('ListVolumes').length, 1000)
  equal(sidecar.linesWith('ListVolumes: the driver').length, 1)
})

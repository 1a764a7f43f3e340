import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { join } from 'node:path'
import { ControllerPublishVolume } from '@csi-sidecars/csi-proto'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { RawDriver, refuse, reply } from '../../harness/driver/raw-driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, attached, LISTS } from '../attacher/scene.ts'

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

test('a listing that never ends is aborted, with a line', async (t) => {
  const driver = await t.driver({ controller: LISTS })
  driver.on('ListVolumes', (_, nth) => ({ reply: { entries: [], nextToken: `${nth}` } }))
  const sidecar = await t.sidecar({ driver, args: ['--reconcile-sync=1s'] })
  await sidecar.line('failed to ListVolumes: the driver', { within: 60_000 })
  equal(driver.callsOf('ListVolumes').length, 1000)
  equal(sidecar.linesWith('ListVolumes: the driver').length, 1)
})

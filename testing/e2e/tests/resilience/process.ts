import { deepStrictEqual as equal, ok } from 'node:assert'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { hold } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import { start } from '../../harness/process/processes.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  attach,
  attachAll,
  attached,
  detachAndWait,
  getAttachment,
  scene,
  suffixes,
  volumeCalls,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'process')
const resizer = testsOf('resizer', 'process')

interface Moment {
  readonly text: string
  /** The resource whose PATCH the test delays. With `publish`, the test delays the call to the driver. */
  readonly at: 'persistentvolumes' | 'volumeattachments' | 'volumeattachments/status' | 'publish'
}

const MOMENTS: readonly Moment[] = [
  { text: 'the PV finalizer is being written', at: 'persistentvolumes' },
  { text: 'the VA finalizer is being written', at: 'volumeattachments' },
  { text: 'the driver works', at: 'publish' },
  { text: 'the status is being written', at: 'volumeattachments/status' },
]

/** Starts an attach, and blocks it at `moment`. Returns a function that lets the attach continue. */
async function attachUntil(t: TestContext, at: AttacherScene, moment: Moment['at']): Promise<() => void> {
  const { fault, release } = hold()
  if (moment === 'publish') {
    const { promise, resolve } = Promise.withResolvers<void>()
    at.driver.on('ControllerPublishVolume', { reply: { publishContext: { a: 'b' } }, after: promise })
    await attach(t, at)
    await eventually('the call', () => volumeCalls(at.driver).length > 0)
    return resolve
  }
  const delayed = at.attacher.gate.inject(`PATCH ${moment}`, fault)
  await attach(t, at)
  await eventually(`a PATCH of ${moment}`, () => delayed.count > 0)
  return release
}

for (const { text, at: moment } of MOMENTS) {
  test(`on SIGTERM while ${text}, the attacher finishes or never starts the attach`, { only: 'ours' }, async (t) => {
    const at = await scene(t)
    const release = await attachUntil(t, at, moment)
    at.attacher.signal('SIGTERM')
    await at.attacher.line('Received SIGTERM or SIGINT signal')
    release()
    equal((await at.attacher.end()).code, 0)
    const va = await getAttachment(t)
    const called = volumeCalls(at.driver).length
    // When the process exits, the attach is complete or has not started.
    if (called > 0) equal([called, va.status?.attached], [1, true])
    if (moment === 'publish' || moment === 'volumeattachments/status') equal(va.status?.attached, true)
  })

  test(`if the attacher is killed while ${text}, the next attacher completes the attach`, async (t) => {
    const at = await scene(t)
    const release = await attachUntil(t, at, moment)
    await at.attacher.endBy('SIGKILL')
    release()
    at.driver.on('ControllerPublishVolume', { reply: {} })
    await t.sidecar({ driver: at.driver })
    const va = await attached(t)
    equal(va.metadata?.finalizers, [at.finalizer])
    equal((await t.api.get(PERSISTENT_VOLUMES, { name: t.name('pv') })).metadata?.finalizers, [at.finalizer])
    await detachAndWait(t)
  })
}

test('after SIGTERM, --drain-timeout limits the wait for an endless driver call', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--drain-timeout=2s', '--timeout=60s'] })
  at.driver.on('ControllerPublishVolume', 'hang')
  await attach(t, at)
  await eventually('the call', () => volumeCalls(at.driver).length > 0)
  const asked = Date.now()
  await at.attacher.endBy('SIGTERM')
  const took = Date.now() - asked
  ok(took > 1500 && took < 10_000, `${took} ms`)
})

test('the attacher works with a closed standard error', { only: 'ours' }, async (t) => {
  const gate = await t.gate()
  const user = t.cluster.user('attacher')
  const at = await scene(t, { gate, user })
  await at.attacher.endBy('SIGKILL')
  const args = [`--csi-address=${at.driver.socket}`, `--kubeconfig=${t.kubeconfig(gate.url, user.token)}`, '-v=10']
  const child = start('sh', ['-c', 'exec "$0" "$@" 2>&-', t.executable(), ...t.controllers(), ...args], {
    stdio: 'ignore',
  })
  await attachAll(t, at, suffixes(15))
  equal(child.exitCode, null)
  child.kill('SIGKILL')
})

test('the attacher keeps working when the reader of its standard error disconnects', { only: 'ours' }, async (t) => {
  const gate = await t.gate()
  const user = t.cluster.user('attacher')
  const first = await scene(t, { gate, user })
  await first.attacher.endBy('SIGKILL')
  const second = await t.running({ driver: first.driver, gate, user, args: ['-v=10'] }, 'volumeattachments', 'csinodes')
  second.process.stderr?.destroy()
  await attachAll(t, first, suffixes(5))
  equal(second.exit, undefined)
})

/** Returns the TCP sockets on which a process listens. */
function listening(pid: number): string[] {
  const rows = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1),
  )
  const listeners = rows.map((row) => row.trim().split(/\s+/)).filter(([, , , state]) => state === '0A')
  const inodes = new Set(listeners.map((columns) => `socket:[${columns[9]}]`))
  return readdirSync(`/proc/${pid}/fd`)
    .map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
    .filter((target) => inodes.has(target))
}

for (const testBoth of [test, resizer]) {
  testBoth('SIGUSR1 opens no debugger in the sidecar, which continues to work', { only: 'ours' }, async (t) => {
    const sidecar = await t.running()
    const before = listening(sidecar.pid)
    equal(before.length, 1)
    for (let times = 0; times < 3; times += 1) {
      sidecar.signal('SIGUSR1')
      // The process handles the signal before it answers a later request.
      await sidecar.http('/livez')
    }
    equal(listening(sidecar.pid), before)
    equal(sidecar.linesWith('Debugger'), [])
    await eventually('readiness', async () => (await sidecar.http('/readyz')).code === 200)
  })
}

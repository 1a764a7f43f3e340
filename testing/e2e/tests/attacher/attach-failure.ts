import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { PERSISTENT_VOLUMES, SECRETS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { partOf, refusal } from '../../harness/api/gate.ts'
import type { VolumeParts } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import { type Call, codeName } from '../../harness/driver/driver.ts'
import { assertContains } from '../../harness/process/sidecar.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  afterLaterWork,
  attach,
  attachAndWait,
  attached,
  attachFailed,
  changeOf,
  editAttachment,
  editStatus,
  gapsOf,
  publishes,
  scene,
  volumeCalls,
  writesTimeAlone,
} from '../../rows/attacher/scene.ts'

const test = testsOf('attacher', 'attach fails')

interface Row {
  readonly what: string
  readonly arrange: (t: TestContext, at: AttacherScene) => Promise<unknown>
  readonly text: (t: TestContext) => string
}

const withVolume =
  (pv: (t: TestContext) => VolumeParts) =>
  (t: TestContext, at: AttacherScene): Promise<unknown> =>
    attach(t, at, { pv: pv(t) })

/** Failures before the call to the driver. After each of them, the VolumeAttachment must not have our finalizer. */
const BEFORE_THE_CALL: readonly Row[] = [
  {
    what: 'the PV is missing',
    arrange: (t, { node }) => t.createAttachment('va', { pv: t.name('pv'), node }),
    text: (t) => `persistentvolume "${t.name('pv')}" not found`,
  },
  {
    what: 'the PV is being deleted',
    arrange: async (t, { node }) => {
      const pv = await t.createVolume('pv', { metadata: { finalizers: ['example.com/keep'] } })
      await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
      await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: pv }))
      await t.createAttachment('va', { pv, node })
    },
    text: (t) => `PersistentVolume "${t.name('pv')}" is marked for deletion`,
  },
  {
    what: 'the PV is neither CSI nor migrated',
    arrange: withVolume(() => ({ csi: null, hostPath: { path: '/x' } })),
    text: () => 'pv spec contained non-csi source that was not migrated',
  },
  {
    what: 'the PV has ReadOnlyMany and ReadWriteOnce',
    arrange: withVolume(() => ({ accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] })),
    text: () => 'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume',
  },
  {
    what: 'the secret is missing',
    arrange: withVolume((t) => ({ csi: { controllerPublishSecretRef: { name: t.name('no'), namespace: 'default' } } })),
    text: (t) => `failed to load secret "default/${t.name('no')}": secrets "${t.name('no')}" not found`,
  },
  {
    what: 'the CSINode is missing',
    arrange: (t) => attach(t, { node: t.name('nowhere') }),
    text: (t) => `csinode.storage.k8s.io "${t.name('nowhere')}" not found`,
  },
  {
    what: 'the CSINode lacks the driver',
    arrange: async (t) => {
      const node = await t.createNode('bare', { driver: 'other.example.com' })
      await attach(t, { node })
    },
    text: (t) => `CSINode ${t.name('bare')} does not contain driver ${t.driverName}`,
  },
]

for (const { what, arrange, text } of BEFORE_THE_CALL) {
  test(`attachError reports that ${what}, and the driver gets no call`, async (t) => {
    const at = await scene(t)
    await arrange(t, at)
    const { status, metadata } = await attachFailed(t)
    equal(status?.attachError?.message, text(t))
    equal(status?.attachError?.errorCode, undefined)
    equal(status?.attached, false)
    equal(metadata?.finalizers, undefined)
    equal(volumeCalls(at.driver), [])
    const [write] = at.attacher.gate.writes('volumeattachments/status')
    equal(write?.contentType, 'application/merge-patch+json')
    equal(Object.keys(partOf(write, 'status') as object), ['attachError'])
    match(String(partOf(write, 'status', 'attachError', 'time')), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    const line = await at.attacher.line(`err=${JSON.stringify(`failed to attach: ${text(t)}`)}`)
    assertContains(line, '"Error processing"')
    assertContains(line, `VolumeAttachment="${t.name('va')}"`)
  })
}

for (const [what, plural, message] of [
  ['PV', 'persistentvolumes', 'could not add PersistentVolume finalizer'],
  ['VA', 'volumeattachments', 'could not save VolumeAttachment'],
] as const) {
  test(`the attach fails without a driver call if the API server refuses our finalizer on the ${what}`, async (t) => {
    const at = await scene(t)
    at.attacher.gate.inject(`PATCH ${plural}`, refusal(403, 'Forbidden', `${plural} "x" is forbidden: no`))
    await attach(t, at)
    const { status, metadata } = await attachFailed(t)
    equal(status?.attachError?.message, `${message}: ${plural} "x" is forbidden: no`)
    equal(metadata?.finalizers, undefined)
    equal(volumeCalls(at.driver), [])
  })
}

test('ControllerPublishVolume is repeated after the backoff if the API server refuses the write of the status', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=700ms'] })
  const where = ({ bytes }: WireRequest): boolean => bytes.includes('"attached":true')
  at.attacher.gate.inject('PATCH volumeattachments/status', ETCD_TIRED, { times: 1, where })
  const { status } = (await attachAndWait(t, at)).object
  equal(status?.attachError, undefined)
  const writes = at.attacher.gate.writes('volumeattachments/status')
  equal(
    writes.filter(({ bytes }) => bytes.includes('attachError":{')),
    [],
  )
  const calls = publishes(at)
  ok(calls.length >= 2, `${calls.length} publishes`)
  if (t.ours) {
    equal(calls.length, 2)
    ok((gapsOf(calls)[0] ?? 0) >= 650, `retried after ${gapsOf(calls)} ms`)
  }
  ok(at.attacher.stderr.includes('failed to mark as attached: etcd is tired'), 'the reason is logged')
})

const CODES = Array.from({ length: 16 }, (_, index) => index + 1)

test('attachError has the message and the errorCode of each gRPC error, and the publish is retried', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'] })
  const handleOf = (code: number): string => `${t.name(`pv-${code}`)}-handle`
  at.driver.on('ControllerPublishVolume', ({ request }) => {
    const code = CODES.find((each) => request['volume_id'] === handleOf(each)) ?? 13
    return { code, message: `why ${code}` }
  })
  for (const code of CODES) await attach(t, at, { suffix: `-${code}` })
  for (const code of CODES) {
    const name = codeName(code)
    const { status, metadata } = await attachFailed(t, '', t.name(`va-${code}`))
    equal(status?.attachError?.message, `rpc error: code = ${name} desc = why ${code}`)
    equal(status?.attachError?.errorCode, code)
    equal(metadata?.finalizers, [at.finalizer])
    const calls = (): readonly Call[] =>
      volumeCalls(at.driver).filter(({ request }) => request['volume_id'] === handleOf(code))
    await eventually(`retries after ${name}`, () => calls().length > 3)
  }
})

test('a hanging ControllerPublishVolume call ends at its deadline, and attachError reports DeadlineExceeded', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--timeout=1s'] })
  at.driver.on('ControllerPublishVolume', 'hang')
  await attach(t, at)
  const { status } = await attachFailed(t)
  equal(status?.attachError?.message, 'rpc error: code = DeadlineExceeded desc = context deadline exceeded')
  equal(status?.attachError?.errorCode, 4)
  const { timeoutMs = 0 } = volumeCalls(at.driver)[0] ?? {}
  ok(timeoutMs > 0 && timeoutMs <= 1050, `the driver was given ${timeoutMs} ms`)
})

test('attachError has no errorCode with MutableCSINodeAllocatableCount=false', async (t) => {
  const at = await scene(t, { args: ['--feature-gates=MutableCSINodeAllocatableCount=false'] })
  at.driver.on('ControllerPublishVolume', { code: 8, message: 'full' })
  await attach(t, at)
  const { status } = await attachFailed(t)
  equal(status?.attachError?.message, 'rpc error: code = ResourceExhausted desc = full')
  equal(status?.attachError?.errorCode, undefined)
})

test('an errorCode in attachError is removed if the next failure has no errorCode', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=500ms'] })
  at.driver.on('ControllerPublishVolume', { code: 8, message: 'full' })
  const secretRef = await t.createSecret({ a: 'b' })
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  await attachFailed(t, 'full')
  await t.api.delete(SECRETS, secretRef)
  const { status } = await attachFailed(t, 'failed to load secret')
  equal(status?.attachError?.errorCode, undefined)
  const writes = at.attacher.gate.writes('volumeattachments/status')
  const patch = writes.find(({ bytes }) => bytes.includes('failed to load secret'))
  equal(partOf(patch, 'status', 'attachError', 'errorCode'), null)
})

test('a repeated attach error changes only the time in attachError', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--retry-interval-start=1500ms', '--retry-interval-max=1500ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'same' })
  await attach(t, at)
  await eventually('a patch of the time alone', () => writesTimeAlone(at, 'attachError'))
})

test('a driver error longer than 1024 bytes does not stop the retries of an attach', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms'] })
  const refusal = { code: 13, message: 'é'.repeat(1200) }
  at.driver.on('ControllerPublishVolume', (_, nth) => (nth < 3 ? refusal : { reply: {} }))
  const { va } = await attach(t, at)
  if (t.ours) {
    const { status } = await attachFailed(t)
    const message = status?.attachError?.message ?? ''
    ok(Buffer.byteLength(message) <= 1024 && Buffer.byteLength(message) > 900, `${Buffer.byteLength(message)} bytes`)
    ok(message.startsWith('rpc error: code = Internal desc = ééé'))
  }
  await attached(t, va)
})

test('a successful attach clears attachError in the patch that sets `attached`', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth < 3 ? { code: 13, message: 'not yet' } : { reply: { publishContext: { a: 'b' } } },
  )
  const { status } = (await attachAndWait(t, at)).object
  if (t.ours) {
    equal(status, { attached: true, attachmentMetadata: { a: 'b' } })
    const last = at.attacher.gate.writes('volumeattachments/status').at(-1)
    equal(changeOf(t, last), { status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: null } })
  }
})

test('the attach fails without a driver call if the Secret is not UTF-8', async (t) => {
  const at = await scene(t)
  const secretRef = await t.createSecret({ key: Buffer.from([0xff, 0xfe]) })
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  const { status }: VolumeAttachment = await attachFailed(t)
  match(status?.attachError?.message ?? '', /UTF-8/)
  equal(volumeCalls(at.driver), [])
})

test('the attacher logs an error and continues to retry if attachError cannot be saved', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  const where = ({ bytes }: WireRequest): boolean => bytes.includes('attachError')
  const failing = at.attacher.gate.inject('PATCH volumeattachments/status', ETCD_TIRED, { where })
  await attach(t, at)
  const line = await at.attacher.line('"Failed to save attach error to VolumeAttachment"')
  assertContains(line, 'err="etcd is tired"', `VolumeAttachment="${t.name('va')}"`)
  await eventually('retries', () => volumeCalls(at.driver).length >= 4)
  failing.end()
  equal((await attachFailed(t)).status?.attachError?.message, 'rpc error: code = Internal desc = no')
})

const again = testsOf('attacher', 'attach again')

again('the backoff of an attach doubles from --retry-interval-start to --retry-interval-max', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=1600ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  const tries = t.ours ? 6 : 7
  await eventually('enough tries', () => volumeCalls(at.driver).length >= tries)
  // The Go sidecars often repeat the first try at once, so only their last two waits are checked.
  const gaps = gapsOf(volumeCalls(at.driver)).slice(t.ours ? 0 : -2)
  const wanted = t.ours ? [400, 800, 1600, 1600, 1600] : [1600, 1600]
  const text = `gaps ${gaps} instead of ${wanted}`
  for (const [index, want] of wanted.entries()) ok((gaps[index] ?? 0) >= want * 0.95, text)
  // Calls may start late on a busy machine, but one of the last gaps shows the limit.
  if (t.ours) ok((gaps[0] ?? 0) < 1500, text)
  ok(Math.min(...gaps.slice(-2)) < 3000, text)
})

again('a successful attach resets the retry backoff of its VolumeAttachment', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms', '--retry-interval-max=60s'] })
  let failing = true
  at.driver.on('ControllerPublishVolume', () => (failing ? { code: 13, message: 'no' } : { reply: {} }))
  await attach(t, at)
  await eventually('three tries', () => volumeCalls(at.driver).length >= 4)
  failing = false
  await attached(t)
  failing = true
  const before = volumeCalls(at.driver).length
  await editStatus(t, { attached: false })
  await eventually('three more tries', () => volumeCalls(at.driver).length >= before + 3, { within: 9000 })
})

async function failedOnce(t: TestContext, ...args: readonly string[]): Promise<AttacherScene> {
  const at = await scene(t, { args: ['--retry-interval-start=60s', ...args] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  await attach(t, at)
  await attachFailed(t)
  // The Go sidecars often repeat the first try at once, before they fail for a later attachment.
  await afterLaterWork(t, at)
  return at
}

again('a change of the labels of an attachment during the backoff causes a retry at once', async (t) => {
  const { driver } = await failedOnce(t)
  const before = volumeCalls(driver).length
  await editAttachment(t, { metadata: { labels: { touched: 'yes' } } })
  await eventually('another try', () => volumeCalls(driver).length > before)
})

again('an edit or a removal of attachError by another client causes no retry', async (t) => {
  const at = await failedOnce(t)
  const before = (await afterLaterWork(t, at)).calls.length
  for (const attachError of [{ message: 'edited', time: '2020-01-01T00:00:00Z' }, null]) {
    await editStatus(t, { attachError })
    equal((await afterLaterWork(t, at)).calls.length, before)
  }
  ok(at.attacher.linesWith('"Ignoring VolumeAttachment change"').length > 0)
})

again('--resync causes a retry of a failed attach before the backoff ends', async (t) => {
  const at = await failedOnce(t, '--resync=2s')
  await eventually('several tries', () => volumeCalls(at.driver).length >= 4, { within: 20_000 })
})

again('--resync=0 causes no retry of a failed attach before the backoff ends', async (t) => {
  const at = await failedOnce(t, '--resync=0')
  const before = (await afterLaterWork(t, at)).calls.length
  equal((await afterLaterWork(t, at)).calls.length, before)
})

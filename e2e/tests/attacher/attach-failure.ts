import { deepStrictEqual as equal, match, ok } from 'node:assert'
import {
  CSI_NODES,
  PERSISTENT_VOLUMES,
  SECRETS,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { partOf, refusal } from '../../harness/api/gate.ts'
import { attachment, csiNode, secret, type VolumeParts, volume } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { assertContains } from '../../harness/process/log-lines.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { type AttacherScene, attach, attached, attachFailed, changeOf, gapsOf, scene, volumeCalls } from './scene.ts'

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

/** All failures before the call of the driver. None may leave our finalizer on the VA. */
const BEFORE_THE_CALL: readonly Row[] = [
  {
    what: 'PV missing',
    arrange: (t, { node }) =>
      t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv: t.name('pv'), node })),
    text: (t) => `persistentvolume "${t.name('pv')}" not found`,
  },
  {
    what: 'PV being deleted',
    arrange: async (t, { node }) => {
      const pv = t.name('pv')
      await t.create(PERSISTENT_VOLUMES, volume(pv, t.driverName, { metadata: { finalizers: ['example.com/keep'] } }))
      await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
      await t.create(VOLUME_ATTACHMENTS, attachment(t.name('va'), t.driverName, { pv, node }))
    },
    text: (t) => `PersistentVolume "${t.name('pv')}" is marked for deletion`,
  },
  {
    what: 'a source that is neither CSI nor migrated',
    arrange: withVolume(() => ({ csi: null, hostPath: { path: '/x' } })),
    text: () => 'pv spec contained non-csi source that was not migrated',
  },
  {
    what: 'ReadOnlyMany with ReadWriteOnce',
    arrange: withVolume(() => ({ accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] })),
    text: () => 'CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume',
  },
  {
    what: 'secret missing',
    arrange: withVolume((t) => ({ csi: { controllerPublishSecretRef: { name: t.name('no'), namespace: 'default' } } })),
    text: (t) => `failed to load secret "default/${t.name('no')}": secrets "${t.name('no')}" not found`,
  },
  {
    what: 'CSINode missing',
    arrange: (t) => attach(t, { node: t.name('nowhere') }),
    text: (t) => `csinode.storage.k8s.io "${t.name('nowhere')}" not found`,
  },
  {
    what: 'CSINode without the driver',
    arrange: async (t) => {
      await t.create(CSI_NODES, csiNode(t.name('bare'), { 'other.example.com': 'x' }))
      await attach(t, { node: t.name('bare') })
    },
    text: (t) => `CSINode ${t.name('bare')} does not contain driver ${t.driverName}`,
  },
]

for (const { what, arrange, text } of BEFORE_THE_CALL) {
  test(`${what}: attachError says so, no errorCode, no finalizer on the VA, no call`, async (t) => {
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

test('the PV finalizer is refused: attachError with the reason, and no call', async (t) => {
  const at = await scene(t)
  const refused = refusal(403, 'Forbidden', 'persistentvolumes "x" is forbidden: no')
  at.attacher.gate.rules.push(({ method, resource }) =>
    method === 'PATCH' && resource === 'persistentvolumes' ? refused : undefined,
  )
  await attach(t, at)
  const { status, metadata } = await attachFailed(t)
  equal(
    status?.attachError?.message,
    'could not add PersistentVolume finalizer: persistentvolumes "x" is forbidden: no',
  )
  equal(metadata?.finalizers, undefined)
  equal(volumeCalls(at.driver), [])
})

test('the VA finalizer is refused: attachError with the reason, and no call', async (t) => {
  const at = await scene(t)
  const refused = refusal(403, 'Forbidden', 'volumeattachments "x" is forbidden: no')
  at.attacher.gate.rules.push(({ method, resource }) =>
    method === 'PATCH' && resource === 'volumeattachments' ? refused : undefined,
  )
  await attach(t, at)
  equal(
    (await attachFailed(t)).status?.attachError?.message,
    'could not save VolumeAttachment: volumeattachments "x" is forbidden: no',
  )
  equal(volumeCalls(at.driver), [])
})

test('the status is refused: no attachError, published once more after the backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=700ms'] })
  let refusals = 0
  at.attacher.gate.rules.push(({ resource, body }) => {
    if (resource !== 'volumeattachments/status' || !JSON.stringify(body).includes('"attached":true')) return undefined
    refusals += 1
    return refusals === 1 ? refusal(500, 'InternalError', 'etcd is tired') : undefined
  })
  await attach(t, at)
  const { status } = await attached(t)
  equal(status?.attachError, undefined)
  const writes = at.attacher.gate.writes('volumeattachments/status').map(({ body }) => JSON.stringify(body))
  ok(
    writes.every((body) => body !== undefined && !body.includes('attachError":{')),
    'no attachError was written',
  )
  const publishes = at.driver.callsOf('ControllerPublishVolume')
  ok(publishes.length >= 2, `${publishes.length} publishes`)
  if (t.ours) {
    equal(publishes.length, 2)
    ok((gapsOf(publishes)[0] ?? 0) >= 650, `retried after ${gapsOf(publishes)} ms`)
  }
  ok(at.attacher.stderr.includes('failed to mark as attached: etcd is tired'), 'the reason is logged')
})

const CODES: readonly (readonly [code: number, name: string])[] = [
  [1, 'Canceled'],
  [2, 'Unknown'],
  [3, 'InvalidArgument'],
  [4, 'DeadlineExceeded'],
  [5, 'NotFound'],
  [6, 'AlreadyExists'],
  [7, 'PermissionDenied'],
  [8, 'ResourceExhausted'],
  [9, 'FailedPrecondition'],
  [10, 'Aborted'],
  [11, 'OutOfRange'],
  [12, 'Unimplemented'],
  [13, 'Internal'],
  [14, 'Unavailable'],
  [15, 'DataLoss'],
  [16, 'Unauthenticated'],
]

test('each gRPC code: message, errorCode, finalizer stays, retried', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=100ms'] })
  const codeOf = new Map(CODES.map(([code]) => [`${t.name(`pv-${code}`)}-handle`, code]))
  at.driver.on('ControllerPublishVolume', ({ request }) => {
    const code = codeOf.get(String(request['volume_id'])) ?? 13
    return { code, message: `why ${code}` }
  })
  for (const [code] of CODES) await attach(t, at, { suffix: `-${code}` })
  for (const [code, name] of CODES) {
    const { status, metadata } = await attachFailed(t, '', t.name(`va-${code}`))
    equal(status?.attachError?.message, `rpc error: code = ${name} desc = why ${code}`)
    equal(status?.attachError?.errorCode, code)
    equal(metadata?.finalizers, [at.finalizer])
    const handle = `${t.name(`pv-${code}`)}-handle`
    const callsOfIt = (): number =>
      volumeCalls(at.driver).filter(({ request }) => request['volume_id'] === handle).length
    await eventually(`retries after ${name}`, () => callsOfIt() > 3)
  }
})

test('a driver that hangs: the deadline passes locally, with the message of Go', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--timeout=1s'] })
  at.driver.on('ControllerPublishVolume', 'hang')
  await attach(t, at)
  const { status } = await attachFailed(t)
  equal(status?.attachError?.message, 'rpc error: code = DeadlineExceeded desc = context deadline exceeded')
  equal(status?.attachError?.errorCode, 4)
})

test('MutableCSINodeAllocatableCount=false: no errorCode', async (t) => {
  const at = await scene(t, { args: ['--feature-gates=MutableCSINodeAllocatableCount=false'] })
  at.driver.on('ControllerPublishVolume', { code: 8, message: 'full' })
  await attach(t, at)
  const { status } = await attachFailed(t)
  equal(status?.attachError?.message, 'rpc error: code = ResourceExhausted desc = full')
  equal(status?.attachError?.errorCode, undefined)
})

test('a former errorCode is removed when the next failure has none', async (t) => {
  t.requires('errorCode')
  const name = t.name('secret')
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=500ms'] })
  at.driver.on('ControllerPublishVolume', { code: 8, message: 'full' })
  await t.create(SECRETS, secret('default', name, { a: 'b' }))
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef: { name, namespace: 'default' } } } })
  await attachFailed(t, 'full')
  await t.api.delete(SECRETS, { name, namespace: 'default' })
  const { status } = await attachFailed(t, 'failed to load secret')
  equal(status?.attachError?.errorCode, undefined)
  const patch = at.attacher.gate
    .writes('volumeattachments/status')
    .find(({ body }) => JSON.stringify(body).includes('failed to load secret'))
  equal(partOf(patch, 'status', 'attachError', 'errorCode'), null)
})

test('the same failure again writes only the new time', async (t) => {
  t.requires('errorCode')
  const at = await scene(t, { args: ['--retry-interval-start=1500ms', '--retry-interval-max=1500ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'same' })
  await attach(t, at)
  const repeated = (): object | undefined =>
    at.attacher.gate
      .writes('volumeattachments/status')
      .slice(1)
      .map((write) => partOf(write, 'status', 'attachError') as object)
      .find((attachError) => attachError !== undefined && Object.keys(attachError).join() === 'time')
  await eventually('a patch of the time alone', repeated)
})

test('an error longer than 1024 bytes does not stop the retries', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms'] })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth < 3 ? { code: 13, message: 'é'.repeat(1200) } : { reply: {} },
  )
  const { va } = await attach(t, at)
  if (t.ours) {
    const { status } = await attachFailed(t)
    const message = status?.attachError?.message ?? ''
    ok(Buffer.byteLength(message) <= 1024 && Buffer.byteLength(message) > 900, `${Buffer.byteLength(message)} bytes`)
    ok(message.startsWith('rpc error: code = Internal desc = ééé'))
  }
  await attached(t, va)
})

test('success clears attachError in the patch that says attached', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.driver.on('ControllerPublishVolume', (_, nth) =>
    nth < 3 ? { code: 13, message: 'not yet' } : { reply: { publishContext: { a: 'b' } } },
  )
  await attach(t, at)
  const { status } = await attached(t)
  if (t.ours) {
    equal(status, { attached: true, attachmentMetadata: { a: 'b' } })
    const last = at.attacher.gate.writes('volumeattachments/status').at(-1)
    equal(changeOf(t, last), { status: { attached: true, attachmentMetadata: { a: 'b' }, attachError: null } })
  }
})

test('a secret that is not UTF-8 fails and is not sent damaged', async (t) => {
  const at = await scene(t)
  const name = t.name('secret')
  await t.create(SECRETS, secret('default', name, { key: Buffer.from([0xff, 0xfe]) }))
  await attach(t, at, { pv: { csi: { controllerPublishSecretRef: { name, namespace: 'default' } } } })
  const { status }: VolumeAttachment = await attachFailed(t)
  match(status?.attachError?.message ?? '', /UTF-8/)
  equal(volumeCalls(at.driver), [])
})

test('the error itself cannot be saved: a line, and the retries continue', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerPublishVolume', { code: 13, message: 'no' })
  let saving = false
  at.attacher.gate.rules.push(({ resource, body }) =>
    !saving && resource === 'volumeattachments/status' && JSON.stringify(body).includes('attachError')
      ? refusal(500, 'InternalError', 'etcd is tired')
      : undefined,
  )
  await attach(t, at)
  const line = await at.attacher.line('"Failed to save attach error to VolumeAttachment"')
  assertContains(line, 'err="etcd is tired"', `VolumeAttachment="${t.name('va')}"`)
  await eventually('retries', () => volumeCalls(at.driver).length >= 4)
  saving = true
  equal((await attachFailed(t)).status?.attachError?.message, 'rpc error: code = Internal desc = no')
})

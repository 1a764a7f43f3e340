import { deepStrictEqual as equal, ok } from 'node:assert'
import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { status } from '@grpc/grpc-js'
import { partOf, refusal } from '../../harness/api/gate.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import { codeName, type DriverReply, requiredBytes } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  afterLaterWork,
  aimed,
  ask,
  bound,
  conditionsOf,
  editClaim,
  eventsOf,
  expands,
  GI,
  getClaim,
  getVolume,
  grown,
  NODE_STEP,
  type ResizerScene,
  raised,
  resized,
  scene,
  sizesOf,
  statusWord,
  untilClaim,
  untilEvent,
  warningsOf,
} from '../../rows/resizer/scene.ts'

const test = testsOf('resizer', 'resize fails')

const failedText = (t: TestContext, why: string): string =>
  `resize volume "${t.name('pv')}" by resizer "${t.driverName}" failed: ${why}`

const FINAL = [
  status.UNKNOWN,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.FAILED_PRECONDITION,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.DATA_LOSS,
  status.UNAUTHENTICATED,
]
const INFEASIBLE = [status.INVALID_ARGUMENT, status.NOT_FOUND, status.OUT_OF_RANGE]
const NOT_FINAL = [
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
  status.UNAVAILABLE,
]

/** Creates one claim for each code. The driver refuses its expansion with that code. */
async function refusedBy(t: TestContext, codes: readonly number[]): Promise<ResizerScene> {
  const at = await scene(t, { args: ['--retry-interval-start=60s', '--kube-api-qps=200', '--kube-api-burst=200'] })
  at.driver.on('ControllerExpandVolume', ({ request }) => {
    const code = codes.find((each) => request['volume_id'] === `${t.name(`pv-${each}`)}-handle`) ?? 0
    return { code, message: `why ${code}` }
  })
  for (const code of codes) await bound(t, { suffix: `-${code}` })
  for (const code of codes) await ask(t, '2Gi', t.name(`pvc-${code}`))
  for (const code of codes) await untilEvent(t, 'VolumeResizeFailed', t.name(`pvc-${code}`))
  await pause(500)
  return at
}

for (const [what, codes, word] of [
  ['a final error sets ControllerResizeError, and the resize stays in progress', FINAL, 'ControllerResizeInProgress'],
  ['an infeasible size sets ControllerResizeError and an infeasible status', INFEASIBLE, 'ControllerResizeInfeasible'],
  ['a non-final error sets no condition, and the resize stays in progress', NOT_FINAL, 'ControllerResizeInProgress'],
] as const) {
  test(what, async (t) => {
    const at = await refusedBy(t, codes)
    for (const code of codes) {
      const pvc = t.name(`pvc-${code}`)
      const why = `rpc error: code = ${codeName(code)} desc = why ${code}`
      const claim = await getClaim(t, pvc)
      equal(statusWord(claim), word)
      const event = `Warning VolumeResizeFailed ${failedText(t, why).replace(t.name('pv'), t.name(`pv-${code}`))}`
      equal((await eventsOf(t, pvc))[1], event)
      equal((await getVolume(t, t.name(`pv-${code}`))).spec?.capacity, { storage: '1Gi' })
      const failed = codes === NOT_FINAL ? [] : ['ControllerResizeError=True']
      equal(conditionsOf(claim), ['Resizing=True', ...failed])
      if (codes === NOT_FINAL) continue
      const { message, reason, lastProbeTime } = claim.status?.conditions?.[1] ?? {}
      equal([message, reason, lastProbeTime], [`failed to expand pvc with ${why}`, undefined, null])
      const [, mark] = (await at.resizer.gate.settledWrites()).filter(({ name }) => name === pvc)
      equal(mark?.contentType, 'application/strategic-merge-patch+json')
      equal(partOf(mark, 'metadata') ?? {}, aimed(t, claim))
      if (codes === INFEASIBLE) equal(partOf(mark, 'status', 'allocatedResourceStatuses'), { storage: word })
    }
  })
}

const TEXTS: readonly (readonly [what: string, pv: (t: TestContext) => object, why: (t: TestContext) => string])[] = [
  [
    'the secret is missing',
    (t) => ({ csi: { controllerExpandSecretRef: { name: t.name('no'), namespace: 'default' } } }),
    (t) => `error getting secret ${t.name('no')} in namespace default: secrets "${t.name('no')}" not found`,
  ],
  [
    'the access modes contradict each other',
    () => ({ accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }),
    (t) =>
      `failed to get capabilities of volume ${t.name('pv')} with CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume`,
  ],
]

for (const [what, pv, why] of TEXTS) {
  test(`an event reports that ${what}, and the driver gets no call`, async (t) => {
    const at = await scene(t)
    await raised(t, { pv: pv(t) })
    equal(await untilEvent(t, 'VolumeResizeFailed'), `Warning VolumeResizeFailed ${failedText(t, why(t))}`)
    equal(expands(at), [])
    const now = await getClaim(t)
    equal([statusWord(now), conditionsOf(now)], ['ControllerResizeInProgress', ['Resizing=True']])
  })
}

test('an expansion makes no driver call and records no event if its first patch of the claim is refused', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.resizer.gate.inject('PATCH persistentvolumeclaims/status', ETCD_TIRED, { times: 2 })
  await grown(t)
  const line = await at.resizer.line(`marking pvc \\"default/${t.name('pvc')}\\" as resizing failed: `)
  ok(line.includes('"Error syncing PVC"') && line.includes('etcd is tired'), line)
  equal(await warningsOf(t), [])
  equal(expands(at).length, 1)
})

test('an event reports a refused patch of the volume, and the driver is called again', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.resizer.gate.inject(
    'PATCH persistentvolumes',
    refusal(403, 'Forbidden', 'persistentvolumes "x" is forbidden: no'),
    { times: 1 },
  )
  const { pv } = await raised(t)
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed error updating pv "${pv}" by resizer: updating capacity of PV "${pv}" to 2Gi failed: update capacity of PV ${pv} failed: persistentvolumes "x" is forbidden: no`,
  )
  await resized(t, '2Gi')
  equal(expands(at).length, 2)
})

const FORBIDDEN = refusal(403, 'Forbidden', 'persistentvolumeclaims "x" is forbidden: no')

for (const [what, answer, step, ends] of [
  ['the last claim patch', { reply: {} }, 'resize finished', ({ status }) => status?.capacity?.['storage'] === '2Gi'],
  [
    'the last claim patch before the work of the kubelet',
    NODE_STEP,
    'node expansion required',
    (claim) => statusWord(claim) === 'NodeResizePending',
  ],
] satisfies readonly [string, DriverReply, string, (claim: PersistentVolumeClaim) => boolean][]) {
  test(`an event reports that the API server refuses ${what}`, async (t) => {
    const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
    at.driver.on('ControllerExpandVolume', answer)
    const marks = (): readonly WireRequest[] => at.resizer.gate.writes('persistentvolumeclaims/status')
    at.resizer.gate.inject('PATCH persistentvolumeclaims/status', FORBIDDEN, { where: () => marks().length === 2 })
    await raised(t)
    const key = `default/${t.name('pvc')}`
    equal(
      await untilEvent(t, 'VolumeResizeFailed'),
      `Warning VolumeResizeFailed mark PVC "${key}" as ${step} failed: can't patch status of  PVC ${key} with persistentvolumeclaims "x" is forbidden: no`,
    )
    await untilClaim(t, ends)
  })
}

test('if the error of the driver cannot be written to the claim, an event reports both errors', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  at.resizer.gate.inject('PATCH persistentvolumeclaims/status', FORBIDDEN, {
    where: ({ bytes }) => bytes.includes('ControllerResizeError'),
  })
  await raised(t)
  const key = `default/${t.name('pvc')}`
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed resizing failed in controller with rpc error: code = Internal desc = no but failed to update PVC ${key} with: mark PVC "${key}" as controller expansion failed, errored with: can't patch status of  PVC ${key} with persistentvolumeclaims "x" is forbidden: no`,
  )
})

test('a driver that returns capacity 0 leads to an event, and the volume keeps its size', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: 0n } })
  await raised(t)
  await untilEvent(t, 'VolumeResizeFailed')
  equal((await getVolume(t)).spec?.capacity, { storage: '1Gi' })
})

test('the expansion fails without a driver call if the Secret is not UTF-8', async (t) => {
  const secretRef = await t.createSecret({ key: Buffer.from([0xff, 0xfe]) })
  const at = await scene(t)
  await raised(t, { pv: { csi: { controllerExpandSecretRef: secretRef } } })
  await untilEvent(t, 'VolumeResizeFailed')
  equal(expands(at), [])
})

const again = testsOf('resizer', 'resize again')

/** Edits the claim for the Go sidecars. Without an edit, they may repeat a conflicting write without end. */
async function nudge(t: TestContext): Promise<void> {
  if (t.ours) return
  await editClaim(t, { metadata: { labels: { nudged: String(Date.now()) } } })
}

again('the backoff grows with each failed expansion to the same size', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=2s'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  await raised(t)
  await eventually('tries', () => expands(at).length >= 6)
  const starts = expands(at).map(({ start }) => start)
  const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0))
  const long = gaps.filter((gap) => gap > 300)
  ok(
    long.slice(0, 3).every((gap, index) => gap >= Math.min(500 * 2 ** index, 2000) * 0.9 || !t.ours),
    `gaps ${gaps}`,
  )
  if (t.ours)
    ok(
      gaps.every((gap, index) => gap >= Math.min(500 * 2 ** index, 2000) * 0.9),
      `gaps ${gaps}`,
    )
})

again('an expansion to an infeasible size is retried once in each --retry-interval-max', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=3s'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raised(t)
  await eventually('a try', () => expands(at).length > 0)
  await pause(1500)
  const quick = expands(at).length
  ok(quick <= 2, `${quick} quick tries`)
  await eventually('another', () => expands(at).length > quick, { within: 8000 })
  await pause(1500)
  // The Go sidecars notice only at the next read that a claim is infeasible, so they may try three times.
  ok(expands(at).length <= quick + (t.ours ? 1 : 3), `${expands(at).length} tries`)
})

for (const [what, code, word] of [
  ['an infeasible size', 11, 'ControllerResizeInfeasible'],
  ['a final error', 13, 'ControllerResizeInProgress'],
] as const) {
  again(`a smaller requested size is tried at once after ${what}`, async (t) => {
    const at = await scene(t, { args: ['--retry-interval-max=5m'] })
    at.driver.on('ControllerExpandVolume', ({ request }) =>
      requiredBytes(request) > 2 * GI ? { code, message: 'too big' } : { reply: {} },
    )
    await raised(t, { to: '5Gi' })
    await untilEvent(t, 'VolumeResizeFailed')
    await untilClaim(t, (each) => statusWord(each) === word)
    await pause(1500)
    await ask(t, '2Gi')
    const claim = await resized(t, '2Gi')
    equal(claim.status?.allocatedResources, { storage: '2Gi' })
    equal([conditionsOf(claim), statusWord(claim)], [[], undefined])
  })
}

again('a smaller requested size waits while the expansion to the earlier size may be running', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=500ms', '--retry-interval-max=500ms'] })
  let busy = true
  at.driver.on('ControllerExpandVolume', () => (busy ? { code: 10, message: 'busy' } : { reply: {} }))
  await raised(t, { to: '5Gi' })
  await untilEvent(t, 'VolumeResizeFailed')
  await ask(t, '2Gi')
  await pause(1500)
  equal([...new Set(sizesOf(at))], [5])
  busy = false
  await nudge(t)
  const claim = await resized(t, '5Gi')
  equal(claim.spec?.resources?.requests?.['storage'], '2Gi')
})

again('an infeasible claim is tried once at the start of the resizer, and then rarely', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=60s'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raised(t)
  await untilClaim(t, (each) => statusWord(each) === 'ControllerResizeInfeasible')
  await pause(1000)
  await at.resizer.endBy('SIGKILL')
  const before = expands(at).length
  await t.sidecar({ driver: at.driver, args: ['--retry-interval-start=100ms', '--retry-interval-max=60s'] })
  await eventually('one try', () => expands(at).length > before)
  await pause(1500)
  ok(expands(at).length <= before + (t.ours ? 1 : 2), `${expands(at).length - before} tries`)
})

again('a change of labels does not cause a call for an infeasible claim', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-max=5m'] })
  at.driver.on('ControllerExpandVolume', { code: 3, message: 'no' })
  await raised(t)
  await untilClaim(t, (each) => statusWord(each) === 'ControllerResizeInfeasible')
  const before = (await afterLaterWork(t, at)).calls.length
  await editClaim(t, { metadata: { labels: { a: 'b' } } })
  equal((await afterLaterWork(t, at)).calls.length, before)
})

again('two simultaneous changes of a claim cause one call, which is retried later', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=2s'] })
  at.driver.on('ControllerExpandVolume', { code: 14, message: 'busy' })
  await bound(t)
  at.resizer.signal('SIGSTOP')
  await ask(t, '2Gi')
  await ask(t, '3Gi')
  await pause(300)
  at.resizer.signal('SIGCONT')
  await eventually('a call', () => expands(at).length > 0)
  await never('another call', () => expands(at).length > 1, 1500)
  equal(sizesOf(at), [3])
})

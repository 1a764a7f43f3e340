import { deepStrictEqual as equal, ok } from 'node:assert'
import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { partOf, refusal } from '../../harness/api/gate.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Answer } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import {
  aimed,
  ask,
  bound,
  conditionsOf,
  eventsOf,
  expands,
  getClaim,
  getVolume,
  grown,
  NODE_STEP,
  type ResizerScene,
  raised,
  resized,
  scene,
  statusWord,
  untilClaim,
  untilEvent,
  warningsOf,
} from './scene.ts'

const test = testsOf('resizer', 'resize fails')

const failedText = (t: TestContext, why: string): string =>
  `resize volume "${t.name('pv')}" by resizer "${t.driverName}" failed: ${why}`

const FINAL: readonly (readonly [code: number, name: string])[] = [
  [2, 'Unknown'],
  [6, 'AlreadyExists'],
  [7, 'PermissionDenied'],
  [9, 'FailedPrecondition'],
  [12, 'Unimplemented'],
  [13, 'Internal'],
  [15, 'DataLoss'],
  [16, 'Unauthenticated'],
]
const INFEASIBLE: readonly (readonly [code: number, name: string])[] = [
  [3, 'InvalidArgument'],
  [5, 'NotFound'],
  [11, 'OutOfRange'],
]
const NOT_FINAL: readonly (readonly [code: number, name: string])[] = [
  [1, 'Canceled'],
  [4, 'DeadlineExceeded'],
  [8, 'ResourceExhausted'],
  [10, 'Aborted'],
  [14, 'Unavailable'],
]

/** One claim for each code, each refused by it. */
async function refusedBy(t: TestContext, codes: typeof FINAL): Promise<ResizerScene> {
  const at = await scene(t, { args: ['--retry-interval-start=60s', '--kube-api-qps=200', '--kube-api-burst=200'] })
  at.driver.on('ControllerExpandVolume', ({ request }) => {
    const [code = 0] = codes.find(([each]) => request['volume_id'] === `${t.name(`pv-${each}`)}-handle`) ?? []
    return { code, message: `why ${code}` }
  })
  for (const [code] of codes) await bound(t, { suffix: `-${code}` })
  for (const [code] of codes) await ask(t, '2Gi', t.name(`pvc-${code}`))
  for (const [code] of codes) await untilEvent(t, 'VolumeResizeFailed', t.name(`pvc-${code}`))
  await pause(500)
  return at
}

test('final errors: ControllerResizeError, the status stays in progress', async (t) => {
  const at = await refusedBy(t, FINAL)
  for (const [code, name] of FINAL) {
    const claim = await getClaim(t, t.name(`pvc-${code}`))
    equal(statusWord(claim), 'ControllerResizeInProgress')
    equal(conditionsOf(claim), ['Resizing=True', 'ControllerResizeError=True'])
    const condition = claim.status?.conditions?.[1]
    equal(condition?.message, `failed to expand pvc with rpc error: code = ${name} desc = why ${code}`)
    equal([condition?.reason, condition?.lastProbeTime], [undefined, null])
    const events = await eventsOf(t, t.name(`pvc-${code}`))
    const why = `rpc error: code = ${name} desc = why ${code}`
    equal(events[1], `Warning VolumeResizeFailed ${failedText(t, why).replace(t.name('pv'), t.name(`pv-${code}`))}`)
    equal((await getVolume(t, t.name(`pv-${code}`))).spec?.capacity, { storage: '1Gi' })
  }
  const [, mark] = (await at.resizer.gate.settledWrites()).filter(({ name }) => name === t.name('pvc-13'))
  equal(mark?.contentType, 'application/strategic-merge-patch+json')
  equal(partOf(mark, 'metadata') ?? {}, aimed(t, await getClaim(t, t.name('pvc-13'))))
})

test('infeasible errors: the status says so, and ControllerResizeError', async (t) => {
  const at = await refusedBy(t, INFEASIBLE)
  for (const [code, name] of INFEASIBLE) {
    const claim = await getClaim(t, t.name(`pvc-${code}`))
    equal(statusWord(claim), 'ControllerResizeInfeasible')
    equal(conditionsOf(claim), ['Resizing=True', 'ControllerResizeError=True'])
    const message = `failed to expand pvc with rpc error: code = ${name} desc = why ${code}`
    equal(claim.status?.conditions?.[1]?.message, message)
  }
  const [, mark] = (await at.resizer.gate.settledWrites()).filter(({ name }) => name === t.name('pvc-3'))
  equal(partOf(mark, 'metadata') ?? {}, aimed(t, await getClaim(t, t.name('pvc-3'))))
  equal(partOf(mark, 'status', 'allocatedResourceStatuses'), { storage: 'ControllerResizeInfeasible' })
})

test('errors that are not final: no condition, the recorded size stays', async (t) => {
  await refusedBy(t, NOT_FINAL)
  for (const [code, name] of NOT_FINAL) {
    const claim = await getClaim(t, t.name(`pvc-${code}`))
    equal(statusWord(claim), 'ControllerResizeInProgress')
    equal(conditionsOf(claim), ['Resizing=True'])
    const events = await eventsOf(t, t.name(`pvc-${code}`))
    ok(events[1]?.endsWith(`failed: rpc error: code = ${name} desc = why ${code}`), events[1] ?? 'no event')
  }
})

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
  test(`${what}: the event says so, and there is no call`, async (t) => {
    const at = await scene(t)
    await raised(t, { pv: pv(t) })
    equal(await untilEvent(t, 'VolumeResizeFailed'), `Warning VolumeResizeFailed ${failedText(t, why(t))}`)
    equal(expands(at), [])
    const now = await getClaim(t)
    equal([statusWord(now), conditionsOf(now)], ['ControllerResizeInProgress', ['Resizing=True']])
  })
}

test('the mark of the start is refused: no event, no call, backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.resizer.gate.inject('PATCH persistentvolumeclaims/status', ETCD_TIRED, { times: 2 })
  await grown(t)
  const line = await at.resizer.line(`marking pvc \\"default/${t.name('pvc')}\\" as resizing failed: `)
  ok(line.includes('"Error syncing PVC"') && line.includes('etcd is tired'), line)
  equal(await warningsOf(t), [])
  equal(expands(at).length, 1)
})

test('the patch of the volume is refused: the event names it, and the driver is called again', async (t) => {
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
  ['the last patch', { reply: {} }, 'resize finished', ({ status }) => status?.capacity?.['storage'] === '2Gi'],
  [
    'the last patch before the node step',
    NODE_STEP,
    'node expansion required',
    (claim) => statusWord(claim) === 'NodeResizePending',
  ],
] satisfies readonly [string, Answer, string, (claim: PersistentVolumeClaim) => boolean][]) {
  test(`${what} is refused: the event names the step`, async (t) => {
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

test('the error mark is refused: the event reports both', async (t) => {
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

test('capacity 0: the volume keeps its size and an event says why', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: 0n } })
  await raised(t)
  await untilEvent(t, 'VolumeResizeFailed')
  equal((await getVolume(t)).spec?.capacity, { storage: '1Gi' })
})

test('a secret that is not UTF-8 is not sent damaged', async (t) => {
  const secretRef = await t.createSecret({ key: Buffer.from([0xff, 0xfe]) })
  const at = await scene(t)
  await raised(t, { pv: { csi: { controllerExpandSecretRef: secretRef } } })
  await untilEvent(t, 'VolumeResizeFailed')
  equal(expands(at), [])
})

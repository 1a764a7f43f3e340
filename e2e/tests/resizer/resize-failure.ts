import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, SECRETS } from '@csi-sidecars/kube-types'
import { partOf, refusal } from '../../harness/api/gate.ts'
import { secret } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import {
  aimed,
  ask,
  bound,
  conditionsOf,
  eventsOf,
  expands,
  GI,
  getClaim,
  getVolume,
  outline,
  type ResizerScene,
  resized,
  scene,
  statusWord,
  untilClaim,
  untilEvent,
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

const TEXTS: readonly (readonly [
  what: string,
  pv: (t: TestContext) => object,
  claim: object,
  why: (t: TestContext) => string,
])[] = [
  [
    'the secret is missing',
    (t) => ({ csi: { controllerExpandSecretRef: { name: t.name('no'), namespace: 'default' } } }),
    {},
    (t) => `error getting secret ${t.name('no')} in namespace default: secrets "${t.name('no')}" not found`,
  ],
  [
    'the access modes contradict each other',
    () => ({ accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }),
    {},
    (t) =>
      `failed to get capabilities of volume ${t.name('pv')} with CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume`,
  ],
]

for (const [what, pv, claim, why] of TEXTS) {
  test(`${what}: the event says so, and there is no call`, async (t) => {
    const at = await scene(t)
    await bound(t, { pv: pv(t), claim })
    await ask(t, '2Gi')
    equal(await untilEvent(t, 'VolumeResizeFailed'), `Warning VolumeResizeFailed ${failedText(t, why(t))}`)
    equal(expands(at), [])
    const now = await getClaim(t)
    equal([statusWord(now), conditionsOf(now)], ['ControllerResizeInProgress', ['Resizing=True']])
  })
}

test('the mark of the start is refused: no event, no call, backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  let refused = 0
  at.resizer.gate.rules.push(({ resource }) => {
    if (resource !== 'persistentvolumeclaims/status') return undefined
    refused += 1
    return refused < 3 ? refusal(500, 'InternalError', 'etcd is tired') : undefined
  })
  await bound(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  const line = await at.resizer.line(`marking pvc \\"default/${t.name('pvc')}\\" as resizing failed: `)
  ok(line.includes('"Error syncing PVC"') && line.includes('etcd is tired'), line)
  equal(
    (await eventsOf(t)).filter((event) => event.startsWith('Warning')),
    [],
  )
  equal(expands(at).length, 1)
})

test('the patch of the volume is refused: the event names it, and the driver is called again', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  let refused = 0
  at.resizer.gate.rules.push(({ resource, method }) => {
    if (resource !== 'persistentvolumes' || method !== 'PATCH') return undefined
    refused += 1
    return refused === 1 ? refusal(403, 'Forbidden', 'persistentvolumes "x" is forbidden: no') : undefined
  })
  const { pv } = await bound(t)
  await ask(t, '2Gi')
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed error updating pv "${pv}" by resizer: updating capacity of PV "${pv}" to 2Gi failed: update capacity of PV ${pv} failed: persistentvolumes "x" is forbidden: no`,
  )
  await resized(t, '2Gi')
  equal(expands(at).length, 2)
})

test('the last patch is refused: the event names the step', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.resizer.gate.rules.push(({ resource, seq }) => {
    const patches = at.resizer.gate.writes('persistentvolumeclaims/status')
    return resource === 'persistentvolumeclaims/status' && patches[1]?.seq === seq
      ? refusal(403, 'Forbidden', 'persistentvolumeclaims "x" is forbidden: no')
      : undefined
  })
  await bound(t)
  await ask(t, '2Gi')
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed mark PVC "default/${t.name('pvc')}" as resize finished failed: can't patch status of  PVC default/${t.name('pvc')} with persistentvolumeclaims "x" is forbidden: no`,
  )
  await resized(t, '2Gi')
})

test('the last patch before the node step is refused: the event names the step', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: true } })
  at.resizer.gate.rules.push(({ resource, seq }) => {
    const patches = at.resizer.gate.writes('persistentvolumeclaims/status')
    return resource === 'persistentvolumeclaims/status' && patches[1]?.seq === seq
      ? refusal(403, 'Forbidden', 'persistentvolumeclaims "x" is forbidden: no')
      : undefined
  })
  await bound(t)
  await ask(t, '2Gi')
  equal(
    await untilEvent(t, 'VolumeResizeFailed'),
    `Warning VolumeResizeFailed mark PVC "default/${t.name('pvc')}" as node expansion required failed: can't patch status of  PVC default/${t.name('pvc')} with persistentvolumeclaims "x" is forbidden: no`,
  )
  await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
})

test('the error mark is refused: the event reports both', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { code: 13, message: 'no' })
  at.resizer.gate.rules.push(({ resource, body }) =>
    resource === 'persistentvolumeclaims/status' && JSON.stringify(body).includes('ControllerResizeError')
      ? refusal(403, 'Forbidden', 'persistentvolumeclaims "x" is forbidden: no')
      : undefined,
  )
  await bound(t)
  await ask(t, '2Gi')
  const event = await untilEvent(t, 'VolumeResizeFailed')
  const key = `default/${t.name('pvc')}`
  equal(
    event,
    `Warning VolumeResizeFailed resizing failed in controller with rpc error: code = Internal desc = no but failed to update PVC ${key} with: mark PVC "${key}" as controller expansion failed, errored with: can't patch status of  PVC ${key} with persistentvolumeclaims "x" is forbidden: no`,
  )
})

test('capacity 0 is a failure that names both sizes, and never reaches the volume', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: 0n, nodeExpansionRequired: false } })
  await bound(t)
  await ask(t, '2Gi')
  const event = await untilEvent(t, 'VolumeResizeFailed')
  ok(event.startsWith('Warning') && event.includes('2Gi') && /\b0\b/.test(event), event)
  equal((await at.resizer.gate.settledWrites('persistentvolumes')).length, 0)
})

test('less than was asked is a failure that names both sizes', { only: 'ours' }, async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(1.5 * GI), nodeExpansionRequired: false } })
  await bound(t)
  await ask(t, '2Gi')
  const event = await untilEvent(t, 'VolumeResizeFailed')
  ok(event.includes('2Gi') && event.includes('1536Mi'), event)
  equal((await at.resizer.gate.settledWrites('persistentvolumes')).length, 0)
})

test('capacity 0: the volume keeps its size and an event says why', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=60s'] })
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: 0n, nodeExpansionRequired: false } })
  await bound(t)
  await ask(t, '2Gi')
  await untilEvent(t, 'VolumeResizeFailed')
  equal((await getVolume(t)).spec?.capacity, { storage: '1Gi' })
})

test('a 409 on the last patch: read again, no event, no second call', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', {
    reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false },
    after: 800,
  })
  const { pvc } = await bound(t)
  await ask(t, '2Gi')
  await eventually('a call', () => expands(at).length > 0)
  let conflict = false
  at.resizer.gate.rules.push(({ resource }) => {
    if (resource !== 'persistentvolumeclaims/status' || conflict) return undefined
    conflict = true
    const done = t.api.merge(
      PERSISTENT_VOLUME_CLAIMS,
      { namespace: 'default', name: pvc },
      { metadata: { labels: { a: 'b' } } },
    )
    return { kind: 'wait', for: done.then(() => undefined) }
  })
  await resized(t, '2Gi')
  equal(expands(at).length, 1)
  equal(
    (await eventsOf(t)).filter((event) => event.startsWith('Warning')),
    [],
  )
  ok(outline(t, await at.resizer.gate.settledWrites()).includes('PATCH persistentvolumeclaims/status 409'))
})

test('a secret that is not UTF-8 is not sent damaged', async (t) => {
  const name = t.name('secret')
  await t.create(SECRETS, secret('default', name, { key: Buffer.from([0xff, 0xfe]) }))
  const at = await scene(t)
  await bound(t, { pv: { csi: { controllerExpandSecretRef: { name, namespace: 'default' } } } })
  await ask(t, '2Gi')
  await untilEvent(t, 'VolumeResizeFailed')
  equal(expands(at), [])
})

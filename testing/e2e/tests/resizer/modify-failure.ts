import { deepStrictEqual as equal, ok } from 'node:assert'
import { partOf, refusal } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  condition,
  modified,
  modifies,
  modify,
  modifying,
  stateOf,
  tierOf,
  tiersOf,
  untilState,
  want,
} from './modify-scene.ts'
import { conditionsOf, eventsOf, getClaim, untilClaim, untilEvent, warningsOf } from './scene.ts'

const test = testsOf('resizer', 'modify')

const ongoing = (message: string) => ({ type: 'ModifyingVolume', status: 'True', message })
const failed = (reason: string, message: string) => ({ type: 'ModifyVolumeError', status: 'True', reason, message })

test('a missing secret: the state stays in progress, retried', async (t) => {
  const csi = { controllerExpandSecretRef: { name: t.name('no'), namespace: 'default' } }
  const at = await modifying(t, { bound: { pv: { csi } }, args: ['--retry-interval-start=300ms'] })
  await want(t, t.name('gold'))
  await at.resizer.line('cannot get error status from modify volume err')
  equal(modifies(at), [])
  const claim = await getClaim(t)
  equal(stateOf(claim), { status: 'InProgress', targetVolumeAttributesClassName: t.name('gold') })
  equal(conditionsOf(claim), ['ModifyingVolume=True'])
  // Ours reports the cause to the user.
  const text = `error getting secret ${t.name('no')} in namespace default: secrets "${t.name('no')}" not found`
  if (t.ours) ok((await untilEvent(t, 'VolumeModifyFailed')).endsWith(text))
  else equal(await warningsOf(t), [])
  await eventually('retries', () => at.resizer.linesWith('cannot get error status').length >= 3)
})

test('InvalidArgument: infeasible, both conditions, event, then slowly', async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-start=100ms', '--retry-interval-max=5m'] })
  at.driver.on('ControllerModifyVolume', { code: 3, message: 'no such tier' })
  await want(t, t.name('gold'))
  const claim = await untilState(t, 'Infeasible')
  equal(stateOf(claim), { status: 'Infeasible', targetVolumeAttributesClassName: t.name('gold') })
  equal(conditionsOf(claim), ['ModifyingVolume=True', 'ModifyVolumeError=True'])
  equal(
    condition(claim, 'ModifyingVolume'),
    ongoing(`Modifying volume to "${t.name('gold')}" failed. Waiting for retry.`),
  )
  equal(condition(claim, 'ModifyVolumeError'), failed('InvalidArgument', 'no such tier'))
  equal(
    await untilEvent(t, 'VolumeModifyFailed'),
    'Warning VolumeModifyFailed rpc error: code = InvalidArgument desc = no such tier',
  )
  await pause(1500)
  ok(modifies(at).length <= (t.ours ? 1 : 2), `${modifies(at).length} calls`)
  const before = modifies(at).length
  await want(t, t.name('silver'))
  await eventually('a call for another class', () => modifies(at).length > before, { within: 3000 })
})

for (const [code, name] of [
  [5, 'NotFound'],
  [11, 'OutOfRange'],
  [13, 'Internal'],
  [9, 'FailedPrecondition'],
] as const) {
  test(`${name}: final, stays in progress, retried with backoff`, async (t) => {
    const at = await modifying(t, { args: ['--retry-interval-start=400ms'] })
    at.driver.on('ControllerModifyVolume', { code, message: 'why' })
    await want(t, t.name('gold'))
    await untilEvent(t, 'VolumeModifyFailed')
    const claim = await untilClaim(t, (each) => conditionsOf(each).length === 2)
    equal(stateOf(claim), { status: 'InProgress', targetVolumeAttributesClassName: t.name('gold') })
    equal(condition(claim, 'ModifyVolumeError'), failed(name, 'why'))
    ok((await eventsOf(t)).includes(`Warning VolumeModifyFailed rpc error: code = ${name} desc = why`))
    await eventually('retries', () => modifies(at).length >= 3)
    at.driver.on('ControllerModifyVolume', { reply: {} })
    await modified(t, t.name('gold'))
    equal(conditionsOf(await getClaim(t)), [])
  })
}

test('a driver that fails without a message leaves a reason and no message', async (t) => {
  const at = await modifying(t)
  at.driver.on('ControllerModifyVolume', { code: 13, message: '' })
  await want(t, t.name('gold'))
  const claim = await untilClaim(t, (each) => conditionsOf(each).length === 2)
  equal(condition(claim, 'ModifyVolumeError'), { type: 'ModifyVolumeError', status: 'True', reason: 'Internal' })
  const sent = at.resizer.gate.writes('persistentvolumeclaims/status').map(({ bytes }) => bytes.toString())
  ok(sent.every((body) => !body.includes('"message":""')))
})

test('RetryInfo of the driver sets the next retry, within --retry-interval-max', { only: 'ours' }, async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=500ms'] })
  at.driver.on('ControllerModifyVolume', (_, nth) =>
    nth === 0 ? { code: 3, message: 'cool down', retryInfo: { seconds: 3600 } } : { reply: {} },
  )
  await modify(t, 'gold')
  const [first, second] = modifies(at)
  const gap = (second?.start ?? 0) - (first?.end ?? 0)
  ok(gap > 400 && gap < 1200, `retried after ${gap} ms`)
})

test('an error that is not final pins the class until it has ended', async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-start=400ms', '--retry-interval-max=400ms'] })
  at.driver.on('ControllerModifyVolume', { code: 10, message: 'busy' })
  await want(t, t.name('gold'))
  const event = await untilEvent(t, 'VolumeModifyFailed')
  equal(
    event,
    `Warning VolumeModifyFailed rpc error: code = Aborted desc = busy. Still modifying to VAC ${t.name('gold')}`,
  )
  const claim = await untilClaim(t, (each) => conditionsOf(each).includes('ModifyVolumeError=True'))
  equal(condition(claim, 'ModifyingVolume'), ongoing(`Modifying volume to "${t.name('gold')}" is still in progress.`))
  await want(t, t.name('silver'))
  const before = modifies(at).length
  await eventually('more tries', () => modifies(at).length >= before + 2)
  equal([...new Set(tiersOf(at))], ['gold'])
  at.driver.on('ControllerModifyVolume', { reply: {} })
  await modified(t, t.name('silver'))
  equal(tiersOf(at).at(-1), 'silver')
})

test('reverted while it is infeasible: cancelled', async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-max=5m'] })
  at.driver.on('ControllerModifyVolume', { code: 3, message: 'no' })
  await want(t, t.name('gold'))
  await untilState(t, 'Infeasible')
  await pause(1200)
  const before = modifies(at).length
  await want(t, null)
  equal(await untilEvent(t, 'VolumeModifyCanceled'), 'Normal VolumeModifyCanceled Cancelled modify.')
  const claim = await untilClaim(t, (each) => !conditionsOf(each).includes('ModifyingVolume=True'))
  equal(conditionsOf(claim), ['ModifyVolumeError=True'])
  equal(stateOf(claim), { status: 'Infeasible', targetVolumeAttributesClassName: t.name('gold') })
  const last = (await at.resizer.gate.settledWrites()).at(-1)
  equal(partOf(last, 'metadata', 'resourceVersion'), undefined)
  await never('a call', () => modifies(at).length > before, 700)
})

test('a modification in progress when the resizer starts continues with the recorded class', async (t) => {
  const at = await modifying(t)
  at.driver.on('ControllerModifyVolume', 'hang')
  await want(t, t.name('gold'))
  await eventually('a call', () => modifies(at).length > 0)
  await at.resizer.endBy('SIGKILL')
  await want(t, t.name('silver'))
  at.driver.on('ControllerModifyVolume', { reply: {} })
  await t.sidecar({ driver: at.driver })
  await modified(t, t.name('silver'))
  equal(tiersOf(at).slice(1), ['gold', 'silver'])
})

test('the volume cannot be patched: retried, and the driver called again', async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-start=300ms'] })
  at.resizer.gate.inject(
    'PATCH persistentvolumes',
    refusal(403, 'Forbidden', 'persistentvolumes "x" is forbidden: no'),
    { times: 1 },
  )
  await modify(t, 'gold')
  equal(modifies(at).length, 2)
  equal(await warningsOf(t), [])
})

test('back to the class it has: a call with that class’s parameters', async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-max=5m'] })
  await modify(t, 'silver')
  at.driver.on('ControllerModifyVolume', (call) =>
    tierOf(call) === 'gold' ? { code: 3, message: 'no' } : { reply: {} },
  )
  await want(t, t.name('gold'))
  await untilState(t, 'Infeasible')
  await pause(1200)
  const claim = await modify(t, 'silver')
  equal(tiersOf(at).at(-1), 'silver')
  equal(conditionsOf(claim), [])
})

test('Pending for a class that is missing, then another: modified to that', async (t) => {
  await modifying(t)
  await want(t, t.name('platinum'))
  await untilState(t, 'Pending')
  equal(conditionsOf(await modify(t, 'gold')), [])
})

test('infeasible is retried after --retry-interval-max', async (t) => {
  const at = await modifying(t, { args: ['--retry-interval-start=200ms', '--retry-interval-max=3s'] })
  at.driver.on('ControllerModifyVolume', { code: 3, message: 'no' })
  await want(t, t.name('gold'))
  await untilState(t, 'Infeasible')
  await pause(1500)
  const before = modifies(at).length
  ok(before <= 2, `${before} calls`)
  at.driver.on('ControllerModifyVolume', { reply: {} })
  await modified(t, t.name('gold'))
  ok(modifies(at).length > before)
})

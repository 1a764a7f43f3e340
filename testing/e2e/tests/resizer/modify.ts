import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS } from '@csi-sidecars/kube-types'
import { hold, partOf, refusal } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import {
  aimed,
  bodyOf,
  bound,
  condition,
  conditionsOf,
  createTier,
  editClaim,
  eventsOf,
  expands,
  getClaim,
  getVolume,
  grown,
  modified,
  modifies,
  modify,
  modifying,
  outline,
  resized,
  scene,
  stateOf,
  THREE_WRITES,
  tierOf,
  tiersOf,
  untilClaim,
  untilEvent,
  untilState,
  want,
  warningsOf,
} from '../../rows/resizer/scene.ts'

const test = testsOf('resizer', 'modify')

test('a modification patches the claim, calls the driver, patches volume and claim, and records events', async (t) => {
  const at = await modifying(t)
  const gold = t.name('gold')
  const claim = await modify(t, 'gold')
  await untilEvent(t, 'VolumeModifySuccessful')
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes), THREE_WRITES)
  for (const { contentType } of writes) equal(contentType, 'application/strategic-merge-patch+json')
  const [mark, volume, finish] = writes
  ok(typeof partOf(mark, 'metadata', 'resourceVersion') === 'string')
  equal(partOf(mark, 'status', 'modifyVolumeStatus'), { status: 'InProgress', targetVolumeAttributesClassName: gold })
  const [inProgress] = partOf(mark, 'status', 'conditions') as { lastProbeTime?: string; lastTransitionTime?: string }[]
  const { lastProbeTime, lastTransitionTime, ...rest } = inProgress ?? {}
  ok(typeof lastProbeTime === 'string' && typeof lastTransitionTime === 'string')
  equal(rest, { message: `Modifying volume to "${gold}" is in progress.`, status: 'True', type: 'ModifyingVolume' })
  equal(volume?.body, bodyOf(aimed(t, await getVolume(t)), { spec: { volumeAttributesClassName: gold } }))
  equal(partOf(finish, 'metadata', 'resourceVersion'), undefined)
  equal(partOf(finish, 'status', 'currentVolumeAttributesClassName'), gold)
  equal(partOf(finish, 'status', 'modifyVolumeStatus'), null)
  const [call] = modifies(at)
  equal(call?.request, { volume_id: `${t.name('pv')}-handle`, mutable_parameters: { tier: 'gold' } })
  ok((call?.timeoutMs ?? 0) > 5000 && (call?.timeoutMs ?? 0) <= 10_050)
  ok((call?.start ?? 0) >= (mark?.end ?? Infinity) && (volume?.time ?? 0) >= (call?.end ?? Infinity))
  equal(conditionsOf(claim), [])
  equal((await getVolume(t)).spec?.volumeAttributesClassName, gold)
  equal(await eventsOf(t), [
    `Normal VolumeModify external resizer is modifying volume ${t.name('pvc')} with vac ${gold}`,
    `Normal VolumeModifySuccessful external resizer modified volume ${t.name('pvc')} with vac ${gold} successfully`,
  ])
  await never('a second call', () => modifies(at).length > 1, 700)
})

test('--extra-modify-metadata adds the names of claim and volume to the request', async (t) => {
  const at = await modifying(t, { args: ['--extra-modify-metadata'] })
  await modify(t, 'gold')
  equal(modifies(at)[0]?.request['mutable_parameters'], {
    tier: 'gold',
    'csi.storage.k8s.io/pvc/name': t.name('pvc'),
    'csi.storage.k8s.io/pvc/namespace': 'default',
    'csi.storage.k8s.io/pv/name': t.name('pv'),
  })
})

for (const [args, seconds] of [
  [['--modify-timeout=33s'], 33],
  [['--timeout=44s'], 44],
  [['--timeout=44s', '--modify-timeout=33s'], 44],
] as const) {
  test(`the deadline of a modification with ${args.join(' ')} is ${seconds} s`, async (t) => {
    const at = await modifying(t, { args })
    await modify(t, 'gold')
    const { timeoutMs = 0 } = modifies(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}

const SECRET_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-'

test('a modification sends the Secret in the annotations of the PV, and without annotations the Secret for expansions', async (t) => {
  const { name, namespace } = await t.createSecret({ which: 'modify' }, 'modify-secret')
  const csi = { controllerExpandSecretRef: await t.createSecret({ which: 'expand' }, 'expand-secret') }
  const at = await modifying(t, { bound: { pv: { csi } } })
  const annotations = { [`${SECRET_ANNOTATION}name`]: name, [`${SECRET_ANNOTATION}namespace`]: namespace }
  await bound(t, { suffix: '-b', pv: { csi, metadata: { annotations } } })
  await modify(t, 'gold')
  await editClaim(t, { spec: { volumeAttributesClassName: t.name('gold') } }, t.name('pvc-b'))
  await eventually('both calls', () => modifies(at).length === 2)
  const secrets = modifies(at).map(({ request }) => request['secrets'])
  equal(secrets, [{ which: 'expand' }, { which: 'modify' }])
})

test('a missing VolumeAttributesClass leads to the status Pending and an event, without a call', async (t) => {
  const at = await modifying(t)
  await want(t, t.name('platinum'))
  const claim = await untilState(t, 'Pending')
  equal(claim.status?.modifyVolumeStatus?.targetVolumeAttributesClassName ?? '', '')
  equal(conditionsOf(claim), [])
  equal(
    await untilEvent(t, 'VolumeModifyFailed'),
    `Warning VolumeModifyFailed VAC "${t.name('platinum')}" does not exist.`,
  )
  await never('a call', () => modifies(at).length > 0, 700)
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes).slice(0, t.ours ? undefined : 1), ['PATCH persistentvolumeclaims/status 200'])
  equal(partOf(writes[0], 'status'), { modifyVolumeStatus: { status: 'Pending' } })
})

test('a volume of another driver is not modified', async (t) => {
  const at = await modifying(t, { bound: { pv: { csi: { driver: 'other.example.com' } } } })
  await want(t, t.name('gold'))
  await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
})

test('no volume is modified if the feature gate VolumeAttributesClass is off', async (t) => {
  const driver = await t.driver({ controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const at = await scene(t, { driver, args: ['--feature-gates=VolumeAttributesClass=false'] })
  await createTier(t, 'gold')
  await bound(t)
  await want(t, t.name('gold'))
  await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
  equal(at.resizer.gate.requestsOf('volumeattributesclasses'), [])
})

test('the resizer discovers the API of VolumeAttributesClasses when it starts', async (t) => {
  const at = await modifying(t)
  const [discovery] = at.resizer.gate.requests.filter(({ path }) => path === '/apis/storage.k8s.io/v1')
  equal(discovery?.method, 'GET')
  ok((await at.resizer.line('"VolumeAttributesClass v1 API is available"')).startsWith('I'))
})

test('volumes are expanded but not modified if the API server lacks VolumeAttributesClasses', async (t) => {
  const driver = await t.driver({ controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const gate = await t.gate()
  const body = { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'storage.k8s.io/v1', resources: [] }
  gate.rules.push(({ path }) => (path === '/apis/storage.k8s.io/v1' ? { kind: 'answer', code: 200, body } : undefined))
  const at = await scene(t, { driver, gate })
  await at.resizer.line(
    'Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available',
  )
  await grown(t)
  equal(at.resizer.gate.requestsOf('volumeattributesclasses'), [])
})

test('a new size and a new class in one edit cause an expansion and a modification', async (t) => {
  const at = await modifying(t, { controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const resources = { requests: { storage: '2Gi' } }
  await editClaim(t, { spec: { volumeAttributesClassName: t.name('gold'), resources } })
  if (t.ours) {
    await modified(t, t.name('gold'))
    equal(conditionsOf(await resized(t, '2Gi')), [])
    const [expand] = expands(at)
    const [modify] = modifies(at)
    ok(Math.abs((expand?.start ?? 0) - (modify?.start ?? Infinity)) < 2000, 'back to back')
    const codes = (await at.resizer.gate.settledWrites()).map(({ code }) => code)
    equal([...new Set(codes)], [200], 'no conflicts of our own making')
    equal(await warningsOf(t), [])
    return
  }
  // The Go sidecars may repeat conflicting patches without end, but they make both calls.
  await eventually('both calls', () => modifies(at).length > 0 && expands(at).length > 0)
})

test('conditions and annotations that other writers add during a modification stay', { only: 'ours' }, async (t) => {
  const blocked = hold()
  // The claim starts without annotations and conditions: a wrong patch would then remove a whole map or list.
  const at = await modifying(t)
  at.resizer.gate.inject('PATCH persistentvolumeclaims/status', blocked.fault, {
    where: ({ bytes }) => bytes.includes('currentVolume'),
  })
  await want(t, t.name('gold'))
  await eventually('the call', () => modifies(at).length === 1)
  const foreign = { type: 'example.com/Backup', status: 'True', lastTransitionTime: new Date(0).toISOString() }
  const body = { metadata: { annotations: { mine: 'x' } }, status: { conditions: [foreign] } }
  const ref = { namespace: 'default', name: t.name('pvc'), subresource: 'status' }
  await t.api.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'strategic', body })
  blocked.release()
  const claim = await modified(t, t.name('gold'))
  equal(conditionsOf(claim), ['example.com/Backup=True'])
  equal(claim.metadata?.annotations?.['mine'], 'x')
})

const ongoing = (message: string) => ({ type: 'ModifyingVolume', status: 'True', message })
const failed = (reason: string, message: string) => ({ type: 'ModifyVolumeError', status: 'True', reason, message })

test('a modification with a missing secret stays in progress and is retried', async (t) => {
  const csi = { controllerExpandSecretRef: { name: t.name('no'), namespace: 'default' } }
  const at = await modifying(t, { bound: { pv: { csi } }, args: ['--retry-interval-start=300ms'] })
  await want(t, t.name('gold'))
  await at.resizer.line('cannot get error status from modify volume err')
  equal(modifies(at), [])
  const claim = await getClaim(t)
  equal(stateOf(claim), { status: 'InProgress', targetVolumeAttributesClassName: t.name('gold') })
  equal(conditionsOf(claim), ['ModifyingVolume=True'])
  // Only our resizer reports the reason in an event.
  const text = `error getting secret ${t.name('no')} in namespace default: secrets "${t.name('no')}" not found`
  if (t.ours) ok((await untilEvent(t, 'VolumeModifyFailed')).endsWith(text))
  else equal(await warningsOf(t), [])
  await eventually('retries', () => at.resizer.linesWith('cannot get error status').length >= 3)
})

test('InvalidArgument leads to the status Infeasible, two conditions, an event and rare retries', async (t) => {
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
  await eventually('a call for another class', () => modifies(at).length > before)
})

for (const [code, name] of [
  [5, 'NotFound'],
  [11, 'OutOfRange'],
  [13, 'Internal'],
  [9, 'FailedPrecondition'],
] as const) {
  test(`a modification that fails with ${name} stays in progress and is retried with backoff`, async (t) => {
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

test('an error of the driver without a message leads to a condition with a reason and no message', async (t) => {
  const at = await modifying(t)
  at.driver.on('ControllerModifyVolume', { code: 13, message: '' })
  await want(t, t.name('gold'))
  const claim = await untilClaim(t, (each) => conditionsOf(each).length === 2)
  equal(condition(claim, 'ModifyVolumeError'), { type: 'ModifyVolumeError', status: 'True', reason: 'Internal' })
  const sent = at.resizer.gate.writes('persistentvolumeclaims/status').map(({ bytes }) => bytes.toString())
  ok(sent.every((body) => !body.includes('"message":""')))
})

test('a second VolumeAttributesClass is not applied while the modification to the first class may still run', async (t) => {
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

test('an infeasible modification ends when the user withdraws the request', async (t) => {
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

test('a restarted resizer completes the modification in progress before it applies a newer class', async (t) => {
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

test('a modification is retried with another driver call if the PersistentVolume cannot be patched', async (t) => {
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

test('the driver is called again if the user returns from an infeasible class to the current class', async (t) => {
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

test('a claim that waits for a missing VolumeAttributesClass is modified if the user requests another class', async (t) => {
  await modifying(t)
  await want(t, t.name('platinum'))
  await untilState(t, 'Pending')
  equal(conditionsOf(await modify(t, 'gold')), [])
})

test('an infeasible modification is retried after --retry-interval-max', async (t) => {
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

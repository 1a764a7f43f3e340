import { deepStrictEqual as equal, ok } from 'node:assert'
import { partOf } from '../../harness/api/gate.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never } from '../../harness/waiting.ts'
import { createTier, modified, modifies, modify, modifying, tiersOf, untilState, want } from './modify-scene.ts'
import {
  aimed,
  bodyOf,
  bound,
  conditionsOf,
  editClaim,
  eventsOf,
  expands,
  getVolume,
  grown,
  outline,
  resized,
  scene,
  untilClaim,
  untilEvent,
  warningsOf,
} from './scene.ts'

const test = testsOf('resizer', 'modify')

test('writes, bodies, call, events, in order', async (t) => {
  const at = await modifying(t)
  const gold = t.name('gold')
  const claim = await modify(t, 'gold')
  await untilEvent(t, 'VolumeModifySuccessful')
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes), [
    'PATCH persistentvolumeclaims/status 200',
    'PATCH persistentvolumes 200',
    'PATCH persistentvolumeclaims/status 200',
  ])
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
  ok((call?.timeoutMs ?? 0) > 8000 && (call?.timeoutMs ?? 0) <= 10_050)
  ok((call?.start ?? 0) >= (mark?.end ?? Infinity) && (volume?.time ?? 0) >= (call?.end ?? Infinity))
  equal(conditionsOf(claim), [])
  equal((await getVolume(t)).spec?.volumeAttributesClassName, gold)
  equal(await eventsOf(t), [
    `Normal VolumeModify external resizer is modifying volume ${t.name('pvc')} with vac ${gold}`,
    `Normal VolumeModifySuccessful external resizer modified volume ${t.name('pvc')} with vac ${gold} successfully`,
  ])
  await never('a second call', () => modifies(at).length > 1, 700)
})

test('a claim changes from one class to the next, and back', async (t) => {
  const at = await modifying(t)
  const tiers = ['gold', 'silver', 'gold']
  for (const tier of tiers) await modify(t, tier)
  equal(tiersOf(at), tiers)
})

test('--extra-modify-metadata adds the names', async (t) => {
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
  test(`the deadline with ${args.join(' ')} is ${seconds} s`, async (t) => {
    const at = await modifying(t, { args })
    await modify(t, 'gold')
    const { timeoutMs = 0 } = modifies(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}

const SECRET_ANNOTATION = 'volume.kubernetes.io/controller-modify-secret-'

test('the secret of the annotations, else the one for expansion', async (t) => {
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

test('a class that does not exist: Pending, an event, no call', async (t) => {
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

test('a class that appears later triggers its claims', { only: 'ours' }, async (t) => {
  await modifying(t)
  await want(t, t.name('platinum'))
  await untilState(t, 'Pending')
  const began = Date.now()
  await modified(t, await createTier(t, 'platinum'))
  ok(Date.now() - began < 2500)
})

test('a volume of another driver is left alone', async (t) => {
  const at = await modifying(t, { bound: { pv: { csi: { driver: 'other.example.com' } } } })
  await want(t, t.name('gold'))
  await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
})

test('VolumeAttributesClass=false switches it off', async (t) => {
  const driver = await t.driver({ controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const at = await scene(t, { driver, args: ['--feature-gates=VolumeAttributesClass=false'] })
  await createTier(t, 'gold')
  await bound(t)
  await want(t, t.name('gold'))
  await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
  equal(at.resizer.gate.requestsOf('volumeattributesclasses'), [])
})

test('the API is discovered at start', async (t) => {
  const at = await modifying(t)
  const [discovery] = at.resizer.gate.requests.filter(({ path }) => path === '/apis/storage.k8s.io/v1')
  equal(discovery?.method, 'GET')
  ok((await at.resizer.line('"VolumeAttributesClass v1 API is available"')).startsWith('I'))
})

test('an API server without the class: the gate goes off, resizing works', async (t) => {
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

test('a new size and a new class in one edit: both happen', async (t) => {
  const at = await modifying(t, { controller: ['MODIFY_VOLUME', 'EXPAND_VOLUME'] })
  const resources = { requests: { storage: '2Gi' } }
  await editClaim(t, { spec: { volumeAttributesClassName: t.name('gold'), resources } })
  if (t.ours) {
    await modified(t, t.name('gold'))
    equal(conditionsOf(await resized(t, '2Gi')), [])
    const [expand] = expands(at)
    const [modify] = modifies(at)
    ok(Math.abs((expand?.start ?? 0) - (modify?.start ?? Infinity)) < 400, 'back to back')
    const codes = (await at.resizer.gate.settledWrites()).map(({ code }) => code)
    equal([...new Set(codes)], [200], 'no conflicts of our own making')
    equal(await warningsOf(t), [])
    return
  }
  // The originals may lock the claim into conflicts; both calls are made nevertheless.
  await eventually('both calls', () => modifies(at).length > 0 && expands(at).length > 0)
})

test('a hundred claims of a class are modified at once', { only: 'ours', within: 180_000 }, async (t) => {
  const at = await modifying(t)
  const suffixes = Array.from({ length: 100 }, (_, index) => `-${index}`)
  const gold = t.name('gold')
  for (const suffix of suffixes) await bound(t, { suffix, claim: { volumeAttributesClassName: gold } })
  for (const suffix of suffixes) {
    await untilClaim(t, ({ status }) => status?.currentVolumeAttributesClassName === gold, t.name(`pvc${suffix}`))
  }
  equal(modifies(at).length, 100)
})

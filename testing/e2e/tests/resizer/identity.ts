import { deepStrictEqual as equal, ok, rejects } from 'node:assert'
import {
  type Patch,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type Resource,
} from '@csi-sidecars/kube-types'
import { ApiFailure, type Ref } from '../../harness/api/api.ts'
import { hold, refusal } from '../../harness/api/gate.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Answer, Call } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually, never } from '../../harness/waiting.ts'
import { modified, modifies, modifying, want } from './modify-scene.ts'
import {
  ask,
  bound,
  conditionsOf,
  expands,
  getClaim,
  getVolume,
  kubeletFinishes,
  NODE_STEP,
  PRE_RESIZE,
  patchStatus,
  raised,
  resized,
  scene,
  sizesOf,
  statusWord,
  untilClaim,
  untilVolume,
} from './scene.ts'

const test = testsOf('resizer', 'identity', { only: 'ours' })

const claimRef = (t: TestContext): Ref => ({ namespace: 'default', name: t.name('pvc') })
const volumeRef = (t: TestContext): Ref => ({ name: t.name('pv') })
const handles = (calls: readonly Call[]): unknown[] => calls.map(({ request }) => request['volume_id'])
const isClean = ({ metadata }: PersistentVolume): boolean => metadata?.annotations?.[PRE_RESIZE] === undefined

/** The same volume once more, under its name, with another handle. */
async function replaceVolume(t: TestContext): Promise<void> {
  const { metadata, spec } = await getVolume(t)
  await t.strip(PERSISTENT_VOLUMES, volumeRef(t))
  const csi = { driver: t.driverName, volumeHandle: t.name('second') }
  await t.create(PERSISTENT_VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: metadata?.name },
    spec: { ...spec, capacity: { storage: '1Gi' }, csi },
  })
}

/** An answer that the test gives later, with `give`. */
function held(answer: Answer & object): { readonly answer: Answer; readonly give: () => void } {
  const gate = Promise.withResolvers<void>()
  return { answer: { ...answer, after: gate.promise }, give: () => gate.resolve() }
}

test('a patch with the uid of another object is refused: 422, metadata.uid', async (t) => {
  await scene(t)
  await bound(t)
  const uid = '00000000-0000-0000-0000-000000000000'
  const status = { capacity: { storage: '5Gi' } }
  const jsonPatch = [{ op: 'replace', path: '/metadata/uid', value: uid }]
  const status5 = { ...claimRef(t), subresource: 'status' }
  const tries: readonly [Resource<unknown>, Ref, Patch][] = [
    [PERSISTENT_VOLUME_CLAIMS, status5, { kind: 'strategic', body: { metadata: { uid }, status } }],
    [PERSISTENT_VOLUME_CLAIMS, status5, { kind: 'merge', body: { metadata: { uid }, status } }],
    [PERSISTENT_VOLUMES, volumeRef(t), { kind: 'strategic', body: { metadata: { uid }, spec: status } }],
    [PERSISTENT_VOLUMES, volumeRef(t), { kind: 'merge', body: { metadata: { uid }, spec: status } }],
    [PERSISTENT_VOLUMES, volumeRef(t), { kind: 'json', body: jsonPatch }],
  ]
  for (const [resource, ref, patch] of tries) {
    await rejects(t.api.patch(resource, ref, patch), (error: unknown) => {
      ok(error instanceof ApiFailure)
      const { details } = error.status as { details: { causes: { field: string; message: string }[] } }
      equal(error.code, 422)
      ok(
        details.causes.some(({ field, message }) => field === 'metadata.uid' && message.endsWith('field is immutable')),
        JSON.stringify(error.status),
      )
      return true
    })
  }
  equal((await getVolume(t)).spec?.capacity, { storage: '1Gi' })
})

test('a volume recreated during its expansion is expanded too', async (t) => {
  const at = await scene(t)
  const first = held({ reply: {} })
  const second = held({ reply: {} })
  at.driver.on('ControllerExpandVolume', (_call, nth) => (nth === 0 ? first.answer : second.answer))
  await raised(t)
  await eventually('the call', () => expands(at).length === 1)
  await replaceVolume(t)
  first.give()
  await eventually('the call for the other one', () => expands(at).length === 2)
  equal((await getVolume(t)).spec?.capacity, { storage: '1Gi' })
  second.give()
  await resized(t, '2Gi')
  equal((await getVolume(t)).spec?.capacity, { storage: '2Gi' })
  equal(handles(expands(at)), [`${t.name('pv')}-handle`, t.name('second')])
})

test('a volume recreated behind a silent watch does not get the size of the former one', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=500ms'] })
  const first = held({ reply: {} })
  at.driver.on('ControllerExpandVolume', (_call, nth) => (nth === 0 ? first.answer : { code: 8, message: 'not yet' }))
  await raised(t)
  await eventually('the call', () => expands(at).length === 1)
  at.resizer.gate.muteWatches()
  await replaceVolume(t)
  first.give()
  await eventually('a refused patch', () =>
    at.resizer.gate.writes('persistentvolumes').some(({ code, name }) => code === 422 && name === t.name('pv')),
  )
  await never('a size', async () => (await getVolume(t)).spec?.capacity?.['storage'] !== '1Gi', 1000)
  at.driver.on('ControllerExpandVolume', { reply: {} })
  at.resizer.gate.dropWatches()
  await resized(t, '2Gi')
  equal(handles(expands(at)).at(-1), t.name('second'))
})

test('a volume recreated during its modification is modified too', async (t) => {
  const at = await modifying(t)
  const first = held({ reply: {} })
  at.driver.on('ControllerModifyVolume', (_call, nth) => (nth === 0 ? first.answer : { reply: {} }))
  await want(t, t.name('gold'))
  await eventually('the call', () => modifies(at).length === 1)
  await replaceVolume(t)
  first.give()
  await modified(t, t.name('gold'))
  equal(handles(modifies(at)), [`${t.name('pv')}-handle`, t.name('second')])
  equal((await getVolume(t)).spec?.volumeAttributesClassName, t.name('gold'))
})

test('a claim recreated during a call gets nothing of the failure', async (t) => {
  const at = await scene(t)
  const first = held({ code: 11, message: 'never' })
  at.driver.on('ControllerExpandVolume', first.answer)
  await raised(t)
  await eventually('the call', () => expands(at).length === 1)
  const { spec } = await getClaim(t)
  await t.strip(PERSISTENT_VOLUME_CLAIMS, claimRef(t))
  const made = await t.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: claimRef(t),
    spec: { ...spec, resources: { requests: { storage: '1Gi' } } },
  })
  await t.api.merge(PERSISTENT_VOLUMES, volumeRef(t), {
    spec: { claimRef: { uid: made.metadata?.uid, resourceVersion: null } },
  })
  await patchStatus(t, t.name('pvc'), { status: { phase: 'Bound', capacity: { storage: '1Gi' } } })
  first.give()
  const blamed = async (): Promise<unknown> => {
    const claim = await getClaim(t)
    return statusWord(claim) ?? conditionsOf(claim)[0]
  }
  await never('a word or a condition', blamed, 1500)
  at.driver.on('ControllerExpandVolume', { reply: {} })
  await ask(t, '2Gi')
  await resized(t, '2Gi')
})

test('concurrent conditions and annotations of other writers stay', async (t) => {
  const pv = { metadata: { annotations: { [PRE_RESIZE]: '512Mi' } } }
  const blocked = hold()
  const at = await modifying(t, { bound: { pv } })
  // The volume has only its annotation when that is removed, and the claim only our condition.
  await untilVolume(t, isClean)
  at.resizer.gate.inject('PATCH persistentvolumeclaims/status', blocked.fault, {
    where: ({ bytes }) => bytes.includes('currentVolume'),
  })
  await want(t, t.name('gold'))
  await eventually('the call', () => modifies(at).length === 1)
  const foreign = { type: 'example.com/Backup', status: 'True', lastTransitionTime: new Date(0).toISOString() }
  const body = { metadata: { annotations: { mine: 'x' } }, status: { conditions: [foreign] } }
  await t.api.patch(PERSISTENT_VOLUME_CLAIMS, { ...claimRef(t), subresource: 'status' }, { kind: 'strategic', body })
  blocked.release()
  const claim = await modified(t, t.name('gold'))
  equal(conditionsOf(claim), ['example.com/Backup=True'])
  equal(claim.metadata?.annotations?.['mine'], 'x')
})

// Any resizer removes the annotation, that of another test too.
test('only the annotation of a volume is removed', { alone: true }, async (t) => {
  const blocked = hold()
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', NODE_STEP)
  await raised(t)
  await untilClaim(t, (claim) => statusWord(claim) === 'NodeResizePending')
  at.resizer.gate.inject('PATCH persistentvolumes', blocked.fault)
  await kubeletFinishes(t, '2Gi')
  await eventually('the patch', () => at.resizer.gate.writes('persistentvolumes').some(({ code }) => code === 0))
  await t.api.merge(PERSISTENT_VOLUMES, volumeRef(t), { metadata: { annotations: { mine: 'x' } } })
  blocked.release()
  const volume = await untilVolume(t, isClean)
  equal(volume.metadata?.annotations, { mine: 'x' })
})

test('a wrong 404 is not final: the claim is retried', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  await bound(t)
  const refused = new Set<string>()
  at.resizer.gate.rules.push(({ method, resource, name = '' }) => {
    const first = method === 'PATCH' && resource !== 'events' && name.startsWith(`${t.id}-`) && !refused.has(resource)
    if (!first) return undefined
    refused.add(resource)
    return refusal(404, 'NotFound', `${resource} "${name}" not found`)
  })
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  equal([...refused].sort(), ['persistentvolumeclaims/status', 'persistentvolumes'])
  equal([...new Set(sizesOf(at))], [2])
})

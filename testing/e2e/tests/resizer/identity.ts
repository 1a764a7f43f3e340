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
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { modified, modifies, modifying, want } from './modify-scene.ts'
import {
  ask,
  bound,
  conditionsOf,
  getVolume,
  kubeletFinishes,
  NODE_STEP,
  PRE_RESIZE,
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
const isClean = ({ metadata }: PersistentVolume): boolean => metadata?.annotations?.[PRE_RESIZE] === undefined

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

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
import { eventually, pause } from '../../harness/waiting.ts'
import {
  ask,
  bound,
  conditionsOf,
  expands,
  getClaim,
  getVolume,
  kubeletFinishes,
  modified,
  modifies,
  modifying,
  outline,
  PRE_RESIZE,
  resized,
  scene,
  sizesOf,
  statusWord,
  untilClaim,
  untilVolume,
  usedBy,
  waitingForKubelet,
  want,
} from './scene.ts'

const test = testsOf('resizer', 'identity', { only: 'ours' })

const claimRef = (t: TestContext): Ref => ({ namespace: 'default', name: t.name('pvc') })
const volumeRef = (t: TestContext): Ref => ({ name: t.name('pv') })
const isClean = ({ metadata }: PersistentVolume): boolean => metadata?.annotations?.[PRE_RESIZE] === undefined

test('the API server answers 422 to a patch with the UID of another object', async (t) => {
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

test('conditions and annotations that other writers add during a modification stay', async (t) => {
  const pv = { metadata: { annotations: { [PRE_RESIZE]: '512Mi' } } }
  const blocked = hold()
  const at = await modifying(t, { bound: { pv } })
  // The objects start without other annotations and conditions: a wrong patch would then remove a whole map or list.
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

// The test runs alone, because the resizer of any other test would remove the annotation too.
test('annotations of other writers stay when our pre-resize-capacity is removed', { alone: true }, async (t) => {
  const blocked = hold()
  const at = await waitingForKubelet(t)
  at.resizer.gate.inject('PATCH persistentvolumes', blocked.fault)
  await kubeletFinishes(t, '2Gi')
  await eventually('the patch', () => at.resizer.gate.writes('persistentvolumes').some(({ code }) => code === 0))
  await t.api.merge(PERSISTENT_VOLUMES, volumeRef(t), { metadata: { annotations: { mine: 'x' } } })
  blocked.release()
  const volume = await untilVolume(t, isClean)
  equal(volume.metadata?.annotations, { mine: 'x' })
})

test('an expansion is retried after a 404 answer for an object that exists', async (t) => {
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

const concurrent = testsOf('resizer', 'concurrent requests', { only: 'ours' })

/** Back-offs that are longer than a test waits, so that no retry occurs. */
const SLOW = ['--retry-interval-start=2m', '--retry-interval-max=5m']

concurrent('immediately after its restart, a driver gets all expansions that it refused before', async (t) => {
  const codes = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
  const at = await scene(t, { args: SLOW })
  const pvcs: string[] = []
  for (const code of codes) pvcs.push((await bound(t, { suffix: `-${code}` })).pvc)
  await usedBy(t, 'pod', t.name('pvc-9'))
  at.driver.on('ControllerExpandVolume', ({ request }) => {
    const code = Number(/-(\d+)-handle$/.exec(String(request['volume_id']))?.[1])
    return { code, message: 'no' }
  })
  for (const pvc of pvcs) await ask(t, '2Gi', pvc)
  const refused = (): Set<unknown> => new Set(expands(at).map(({ request }) => request['volume_id']))
  await eventually('a call for each', () => refused().size === codes.length)
  await pause(1000)
  at.driver.kill()
  await pause(500)
  at.driver.on('ControllerExpandVolume', { reply: {} })
  await at.driver.start()
  const back = Date.now()
  for (const pvc of pvcs) await resized(t, '2Gi', pvc)
  ok(Date.now() - back < 8000, `${Date.now() - back} ms`)
})

concurrent('changes of the condition Unused by another writer cause no call and no write, and stay', async (t) => {
  const at = await scene(t)
  await bound(t)
  const flip = (status: string): Promise<unknown> => {
    const lastTransitionTime = new Date().toISOString()
    const unused = { type: 'Unused', status, reason: 'NoPod', message: 'no pod uses it', lastTransitionTime }
    const ref = { namespace: 'default', name: t.name('pvc'), subresource: 'status' }
    const body = { status: { conditions: [unused] } }
    return t.api.patch(PERSISTENT_VOLUME_CLAIMS, ref, { kind: 'strategic', body })
  }
  for (let round = 0; round < 100; round += 1) await flip(round % 2 === 0 ? 'True' : 'False')
  await pause(500)
  equal(expands(at), [])
  equal(outline(t, at.resizer.gate.writes('persistentvolumeclaims/status', 'persistentvolumes')), [])
  at.driver.on('ControllerExpandVolume', { reply: {}, after: 1000 })
  await ask(t, '2Gi')
  await untilClaim(t, (claim) => statusWord(claim) === 'ControllerResizeInProgress')
  while (statusWord(await getClaim(t)) !== undefined) {
    await flip(Date.now() % 2 === 0 ? 'True' : 'False')
    // Without this pause, the loop would cause a conflict for every patch of the resizer with a `resourceVersion`.
    await pause(30)
  }
  await resized(t, '2Gi')
  equal(
    conditionsOf(await getClaim(t)).map((each) => each.split('=')[0]),
    ['Unused'],
  )
  equal(expands(at).length, 1)
})

testsOf('resizer', 'other drivers', { only: 'ours' })(
  'the log line about a driver that restarts with other capabilities contains the capabilities',
  async (t) => {
    const at = await scene(t)
    at.driver.kill()
    await at.resizer.line('Lost connection')
    at.driver.capabilities.controller.splice(0, 1, 'MODIFY_VOLUME')
    at.driver.capabilities.node.push('EXPAND_VOLUME')
    await at.driver.start()
    const line = await at.resizer.line('CSI driver has changed')
    for (const text of ['without the controller capability EXPAND_VOLUME', 'with the node capability EXPAND_VOLUME']) {
      equal(line.includes(text), true, line)
    }
  },
)

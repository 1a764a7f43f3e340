import { deepStrictEqual as equal, ok } from 'node:assert'
import type { TestContext } from '../../harness/context.ts'
import { requiredBytes } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  afterLaterWork,
  aimed,
  ask,
  bodyOf,
  conditionsOf,
  createBoundClaim,
  editClaim,
  expands,
  GI,
  getClaim,
  getVolume,
  grown,
  kubeletFinishes,
  NODE_STEP,
  outline,
  PRE_RESIZE,
  patchStatus,
  type ResizerScene,
  scene,
  sizesOf,
  statusWord,
  untilClaim,
  untilVolume,
  waitingForKubelet,
} from '../../rows/resizer/scene.ts'

const test = testsOf('resizer', 'decision')

interface Row {
  readonly row: string
  /** `has` is the size of the volume, `asked` the requested size, and `recorded` the allocated size, in Gi. */
  readonly has: number
  readonly asked: number
  readonly recorded?: number
  readonly word?: string
  readonly pending?: 'True' | 'False'
  /** The expected size in the call, in Gi. Undefined if no call is expected. */
  readonly target?: number
}

const ROWS: readonly Row[] = [
  { row: 'a1', has: 1, asked: 2, target: 2 },
  { row: 'a1-recorded', has: 1, asked: 2, recorded: 3, target: 2 },
  { row: 'a2', has: 1, asked: 2, recorded: 3, word: 'ControllerResizeInfeasible', target: 2 },
  { row: 'a3', has: 1, asked: 2, recorded: 3, word: 'ControllerResizeInProgress', target: 3 },
  { row: 'a3-bare', has: 1, asked: 2, word: 'ControllerResizeInProgress', target: 2 },
  { row: 'a4-pending', has: 1, asked: 2, recorded: 3, word: 'NodeResizePending', target: 3 },
  { row: 'a4-progress', has: 1, asked: 2, recorded: 3, word: 'NodeResizeInProgress', target: 3 },
  { row: 'a4-bare', has: 1, asked: 2, word: 'NodeResizePending', target: 2 },
  { row: 'a4-reached', has: 2, asked: 3, recorded: 2, word: 'NodeResizePending' },
  { row: 'a5', has: 1, asked: 2, recorded: 3, word: 'NodeResizeInfeasible', target: 3 },
  { row: 'a5-bare', has: 1, asked: 2, word: 'NodeResizeInfeasible', target: 2 },
  { row: 'b1-pending', has: 2, asked: 2, recorded: 2, word: 'NodeResizePending' },
  { row: 'b1-progress', has: 3, asked: 2, recorded: 2, word: 'NodeResizeInProgress' },
  { row: 'b2', has: 3, asked: 2, recorded: 3, word: 'NodeResizeInfeasible', target: 3 },
  { row: 'b2-bare', has: 3, asked: 2, word: 'NodeResizeInfeasible', target: 2 },
  { row: 'b3-progress', has: 3, asked: 2, recorded: 3, word: 'ControllerResizeInProgress', target: 3 },
  { row: 'b3-infeasible', has: 3, asked: 2, recorded: 3, word: 'ControllerResizeInfeasible', target: 3 },
  { row: 'b3-bare', has: 3, asked: 2, word: 'ControllerResizeInProgress', target: 2 },
  { row: 'b4', has: 3, asked: 2, recorded: 3, target: 3 },
  { row: 'b5', has: 2, asked: 2, target: 2 },
  { row: 'b5-pending', has: 2, asked: 2, pending: 'True' },
  { row: 'b5-not-pending', has: 2, asked: 2, pending: 'False', target: 2 },
]

/** Creates a claim and a volume with the sizes and the status of a table row, before the resizer starts. */
async function found(t: TestContext, { row, has, asked, recorded, word, pending }: Row): Promise<void> {
  const status = {
    capacity: { storage: '1Gi' },
    ...(recorded !== undefined && { allocatedResources: { storage: `${recorded}Gi` } }),
    ...(word !== undefined && { allocatedResourceStatuses: { storage: word } }),
    ...(pending !== undefined && { conditions: [{ type: 'FileSystemResizePending', status: pending }] }),
  }
  await createBoundClaim(t, { suffix: `-${row}`, size: `${asked}Gi`, volumeSize: `${has}Gi`, status })
}

async function startedOver(t: TestContext): Promise<ResizerScene> {
  const first = await scene(t)
  await first.resizer.endBy('SIGKILL')
  return first
}

test('a restarted resizer requests the right size for each combination of sizes and claim status', async (t) => {
  const at = await startedOver(t)
  for (const row of ROWS) await found(t, row)
  const isLater = (handle: unknown): boolean => String(handle).includes('-later-')
  at.driver.on('ControllerExpandVolume', ({ request }) => (isLater(request['volume_id']) ? { reply: {} } : 'hang'))
  const args = ['--workers=100', '--kube-api-qps=1000', '--kube-api-burst=1000']
  const resizer = await t.sidecar({ driver: at.driver, args })
  const calls = ROWS.filter(({ target }) => target !== undefined).length
  await eventually('all the calls', () => expands(at).length >= calls)
  await afterLaterWork(t, { driver: at.driver, resizer })
  const seen = ROWS.map(({ row }) => {
    const call = expands(at).find(({ request }) => request['volume_id'] === `${t.name(`pv-${row}`)}-handle`)
    return `${row}: ${call === undefined ? 'nothing' : Number(requiredBytes(call.request)) / GI}`
  })
  equal(
    seen,
    ROWS.map(({ row, target = 'nothing' }) => `${row}: ${target}`),
  )
  for (const { row, target } of ROWS) {
    if (target !== undefined) continue
    const writes = resizer.gate.writes().filter(({ name }) => name === t.name(`pvc-${row}`))
    equal(writes, [])
  }
  // Row `b5` causes a warning: the volume has the requested size, but the claim records no expansion.
  const line = await resizer.line('external-resizer may be running with older version of kubernetes api-server')
  ok(line.startsWith('W') && line.includes('please upgrade to k8s version 1.32'), line)
})

test('for a driver that expands only on nodes, a smaller request replaces the size that the kubelet has refused', async (t) => {
  const driver = await t.driver({ controller: [], node: ['EXPAND_VOLUME'] })
  const first = await scene(t, { driver })
  await first.resizer.endBy('SIGKILL')
  await found(t, { row: 'b2', has: 3, asked: 2, recorded: 3, word: 'NodeResizeInfeasible' })
  await t.sidecar({ driver })
  const claim = await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending', t.name('pvc-b2'))
  equal(claim.status?.allocatedResources, { storage: '2Gi' })
  equal((await getVolume(t, t.name('pv-b2'))).spec?.capacity, { storage: '2Gi' })
})

test('only an expansion to a new size removes the old resize conditions from the claim', async (t) => {
  const at = await startedOver(t)
  const conditions = [
    { type: 'Foreign', status: 'True' },
    { type: 'FileSystemResizePending', status: 'False' },
    { type: 'ControllerResizeError', status: 'True', message: 'old' },
  ]
  const infeasible = { storage: 'ControllerResizeInfeasible' }
  const had = { capacity: { storage: '1Gi' }, conditions, allocatedResourceStatuses: infeasible }
  for (const [suffix, storage] of [
    ['-new', '3Gi'],
    ['-same', '2Gi'],
  ] as const) {
    await createBoundClaim(t, {
      suffix,
      size: '2Gi',
      volumeSize: '1Gi',
      status: { ...had, allocatedResources: { storage } },
    })
  }
  at.driver.on('ControllerExpandVolume', 'hang')
  await t.sidecar({ driver: at.driver })
  await eventually('both calls', () => expands(at).length >= 2)
  const fresh = await getClaim(t, t.name('pvc-new'))
  equal(conditionsOf(fresh), ['Foreign=True', 'Resizing=True'])
  equal(statusWord(fresh), 'ControllerResizeInProgress')
  const same = await getClaim(t, t.name('pvc-same'))
  const kept = ['Foreign=True', 'FileSystemResizePending=False', 'ControllerResizeError=True']
  equal(conditionsOf(same), [...kept, 'Resizing=True'])
  equal(statusWord(same), 'ControllerResizeInfeasible')
})

test('a successful retry keeps ControllerResizeError if the kubelet must finish the expansion', async (t) => {
  const at = await startedOver(t)
  const status = {
    capacity: { storage: '1Gi' },
    conditions: [{ type: 'ControllerResizeError', status: 'True', message: 'old' }],
    allocatedResources: { storage: '2Gi' },
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
  }
  await createBoundClaim(t, { size: '2Gi', volumeSize: '1Gi', status })
  at.driver.on('ControllerExpandVolume', NODE_STEP)
  await t.sidecar({ driver: at.driver })
  const claim = await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  equal(conditionsOf(claim), ['ControllerResizeError=True', 'Resizing=True', 'FileSystemResizePending=True'])
})

test('pre-resize-capacity is removed from a volume of any driver once claim and volume have the same size', {
  alone: 'cluster',
}, async (t) => {
  const first = await startedOver(t)
  const metadata = { annotations: { [PRE_RESIZE]: '1Gi', other: 'kept' } }
  await createBoundClaim(t, { pv: { metadata, csi: { driver: 'other.example.com' } } })
  await createBoundClaim(t, { suffix: '-larger', volumeSize: '2Gi', pv: { metadata } })
  const resizer = await t.sidecar({ driver: first.driver })
  const clean = await untilVolume(t, ({ metadata: now }) => now?.annotations?.[PRE_RESIZE] === undefined)
  equal(clean.metadata?.annotations, { other: 'kept' })
  const [patch] = await resizer.gate.settledWrites()
  equal(patch?.contentType, 'application/strategic-merge-patch+json')
  equal(patch?.body, bodyOf({ annotations: { [PRE_RESIZE]: null }, ...aimed(t, clean) }))
  equal((await afterLaterWork(t, { ...first, resizer })).writes.length, 1)
})

test('pre-resize-capacity stays on a volume with AnnotateFsResize=false', { alone: 'cluster' }, async (t) => {
  const at = await scene(t, { args: ['--feature-gates=AnnotateFsResize=false'] })
  await createBoundClaim(t, { pv: { metadata: { annotations: { [PRE_RESIZE]: '1Gi' } } } })
  equal((await afterLaterWork(t, at)).writes, [])
})

test('the resizer expands to a larger requested size only after the kubelet has finished the earlier expansion', async (t) => {
  const at = await waitingForKubelet(t)
  await ask(t, '3Gi')
  equal((await afterLaterWork(t, at)).calls.length, 1)
  await kubeletFinishes(t, '2Gi')
  await eventually('the second call', () => sizesOf(at).includes(3))
  await untilClaim(t, ({ status }) => status?.allocatedResources?.['storage'] === '3Gi')
})

test('changes of labels, annotations and conditions of a claim cause no call and no write', async (t) => {
  const at = await scene(t)
  await grown(t)
  await editClaim(t, { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } })
  await patchStatus(t, t.name('pvc'), { status: { conditions: [{ type: 'Foreign', status: 'True' }] } })
  const { calls, writes } = await afterLaterWork(t, at)
  equal([outline(t, writes).length, calls.length], [3, 1])
})

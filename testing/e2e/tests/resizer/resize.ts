import { deepStrictEqual as equal, ok } from 'node:assert'
import { partOf } from '../../harness/api/gate.ts'
import type { VolumeParts } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import {
  afterLaterWork,
  aimed,
  ask,
  type BoundParts,
  bodyOf,
  bound,
  conditionsOf,
  eventsOf,
  expands,
  GI,
  getClaim,
  getVolume,
  grown,
  kubeletFinishes,
  NO_NODE_STEP,
  outline,
  PRE_RESIZE,
  raised,
  resized,
  scene,
  statusWord,
  THREE_WRITES,
  untilClaim,
  untilEvent,
  untilVolume,
  waitingForKubelet,
  withoutKey,
} from '../../rows/resizer/scene.ts'

const test = testsOf('resizer', 'resize')

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** Returns a body with its timestamps replaced by `TIME`, so that it can be compared. */
function timeless(body: unknown): unknown {
  const text = JSON.stringify(body, (_, value) => (typeof value === 'string' && TIME.test(value) ? 'TIME' : value))
  return JSON.parse(text)
}

test('an expansion patches the claim, calls the driver, patches volume and claim, and records events', async (t) => {
  const at = await scene(t)
  const { pv } = await bound(t)
  const before = await getClaim(t)
  await ask(t, '2Gi')
  const claim = await resized(t, '2Gi')
  await untilEvent(t, 'VolumeResizeSuccessful')
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes), THREE_WRITES)
  const [mark, volume, finish] = writes
  for (const { contentType } of writes) equal(contentType, 'application/strategic-merge-patch+json')
  const resourceVersion = partOf(mark, 'metadata', 'resourceVersion')
  ok(resourceVersion !== before.metadata?.resourceVersion)
  equal(timeless(mark?.body), {
    metadata: { resourceVersion },
    status: {
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      allocatedResources: { storage: '2Gi' },
      conditions: [{ lastProbeTime: null, lastTransitionTime: 'TIME', status: 'True', type: 'Resizing' }],
    },
  })
  equal(volume?.body, bodyOf(aimed(t, await getVolume(t)), { spec: { capacity: { storage: '2Gi' } } }))
  const lastVersion = partOf(finish, 'metadata', 'resourceVersion')
  ok(typeof lastVersion === 'string')
  equal(timeless(finish?.body), {
    metadata: { annotations: { [NO_NODE_STEP]: 'true' }, resourceVersion: lastVersion },
    status: {
      allocatedResourceStatuses: withoutKey(t, 'storage'),
      capacity: { storage: '2Gi' },
      conditions: t.ours ? [{ $patch: 'delete', type: 'Resizing' }] : null,
    },
  })
  const [call] = expands(at)
  equal(call?.request, {
    volume_id: `${pv}-handle`,
    capacity_range: { required_bytes: String(2 * GI) },
    volume_capability: { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  })
  ok((call?.start ?? 0) >= (mark?.end ?? Infinity) && (volume?.time ?? 0) >= (call?.end ?? Infinity))
  equal(expands(at).length, 1)
  equal(conditionsOf(claim), [])
  equal(claim.status?.allocatedResources, { storage: '2Gi' })
  equal(claim.status?.allocatedResourceStatuses, undefined)
  equal(claim.metadata?.annotations, { [NO_NODE_STEP]: 'true' })
  equal((await getVolume(t)).spec?.capacity, { storage: '2Gi' })
  equal(await eventsOf(t), [
    `Normal Resizing External resizer is resizing volume ${pv}`,
    'Normal VolumeResizeSuccessful Resize volume succeeded',
  ])
})

test('an expansion that the kubelet must finish leaves the status NodeResizePending', async (t) => {
  const { pv, claim, ...at } = await waitingForKubelet(t)
  await untilEvent(t, 'FileSystemResizeRequired')
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes), THREE_WRITES)
  const annotated = { annotations: { [PRE_RESIZE]: '1Gi' }, ...aimed(t, await getVolume(t)) }
  equal(writes[1]?.body, bodyOf(annotated, { spec: { capacity: { storage: '2Gi' } } }))
  const message = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
  const lastVersion = partOf(writes[2], 'metadata', 'resourceVersion')
  ok(typeof lastVersion === 'string')
  equal(timeless(writes[2]?.body), {
    metadata: { resourceVersion: lastVersion },
    status: {
      '$setElementOrder/conditions': [{ type: 'Resizing' }, { type: 'FileSystemResizePending' }],
      allocatedResourceStatuses: { storage: 'NodeResizePending' },
      conditions: [
        { lastProbeTime: null, lastTransitionTime: 'TIME', message, status: 'True', type: 'FileSystemResizePending' },
      ],
    },
  })
  equal(conditionsOf(claim), ['Resizing=True', 'FileSystemResizePending=True'])
  equal(claim.status?.capacity, { storage: '1Gi' })
  equal(claim.status?.allocatedResources, { storage: '2Gi' })
  equal(claim.metadata?.annotations, undefined)
  const volume = await getVolume(t)
  equal(volume.spec?.capacity, { storage: '2Gi' })
  equal(volume.metadata?.annotations, { [PRE_RESIZE]: '1Gi' })
  equal(await eventsOf(t), [
    `Normal Resizing External resizer is resizing volume ${pv}`,
    'Normal FileSystemResizeRequired Require file system resize of volume on node',
  ])
  equal((await afterLaterWork(t, at)).calls.length, 1)
})

test('the PV loses pre-resize-capacity after the kubelet has resized the volume', { alone: 'cluster' }, async (t) => {
  const at = await waitingForKubelet(t)
  await kubeletFinishes(t, '2Gi')
  await untilVolume(t, ({ metadata }) => metadata?.annotations === undefined)
  const { calls, writes } = await afterLaterWork(t, at)
  equal(outline(t, writes).slice(3), ['PATCH persistentvolumes 200'])
  equal(writes[3]?.body, bodyOf({ annotations: withoutKey(t, PRE_RESIZE), ...aimed(t, await getVolume(t)) }))
  equal(calls.length, 1)
})

test('the annotation pre-resize-capacity is not written to the PV with AnnotateFsResize=false', async (t) => {
  await waitingForKubelet(t, { args: ['--feature-gates=AnnotateFsResize=false'] })
  equal((await getVolume(t)).metadata?.annotations, undefined)
})

test('an expansion removes the annotation node-expansion-not-required from the claim', async (t) => {
  const annotations = { [NO_NODE_STEP]: 'true', other: 'kept' }
  const { claim, ...at } = await waitingForKubelet(t, { claim: { metadata: { annotations } } })
  equal(claim.metadata?.annotations, { other: 'kept' })
  const [mark] = await at.resizer.gate.settledWrites()
  equal(partOf(mark, 'metadata', 'annotations'), { [NO_NODE_STEP]: null })
})

test('an expansion keeps the conditions and the status fields of other controllers', async (t) => {
  const at = await scene(t)
  const status = {
    conditions: [{ type: 'Foreign', status: 'True', reason: 'r', message: 'm' }],
    allocatedResources: { 'example.com/x': '5' },
    allocatedResourceStatuses: { 'example.com/x': 'NodeResizePending' },
  }
  const { claim } = await grown(t, { status })
  equal(conditionsOf(claim), ['Foreign=True'])
  equal(claim.status?.allocatedResources, { 'example.com/x': '5', storage: '2Gi' })
  equal(claim.status?.allocatedResourceStatuses, { 'example.com/x': 'NodeResizePending' })
  const [mark, finish] = await at.resizer.gate.settledWrites('persistentvolumeclaims/status')
  equal(timeless(partOf(mark, 'status')), {
    '$setElementOrder/conditions': [{ type: 'Foreign' }, { type: 'Resizing' }],
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    allocatedResources: { storage: '2Gi' },
    conditions: [{ lastProbeTime: null, lastTransitionTime: 'TIME', status: 'True', type: 'Resizing' }],
  })
  equal(partOf(finish, 'status'), {
    '$setElementOrder/conditions': [{ type: 'Foreign' }],
    allocatedResourceStatuses: { storage: null },
    capacity: { storage: '2Gi' },
    conditions: [{ $patch: 'delete', type: 'Resizing' }],
  })
})

test('claim and volume show the size that the driver returns, if it exceeds the requested size', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', { reply: { capacityBytes: BigInt(3 * GI + 1024) } })
  await raised(t)
  const claim = await resized(t, '3145729Ki')
  equal(claim.status?.allocatedResources, { storage: '2Gi' })
  equal((await getVolume(t)).spec?.capacity, { storage: '3145729Ki' })
})

test('for a driver that expands only on nodes, the resizer makes no driver call and records the requested size', async (t) => {
  const driver = await t.driver({ controller: [], node: ['EXPAND_VOLUME'] })
  const at = await scene(t, { driver })
  ok(
    (await at.resizer.line('using trivial resizer')).includes(
      '"The CSI driver supports node resize only, using trivial resizer to handle resize requests"',
    ),
  )
  await raised(t, { to: '2G' })
  const claim = await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  equal(expands(at), [])
  equal(claim.status?.allocatedResources, { storage: '2G' })
  const volume = await getVolume(t)
  equal(volume.spec?.capacity, { storage: '2G' })
  equal(volume.metadata?.annotations, { [PRE_RESIZE]: '1Gi' })
  await untilEvent(t, 'FileSystemResizeRequired')
})

const SIZES: readonly (readonly [asked: string, bytes: string, allocated: string, stored: string])[] = [
  ['2Gi', String(2 * GI), '2Gi', '2Gi'],
  ['1536Mi', String(1.5 * GI), '1536Mi', '1536Mi'],
  ['1.5Gi', String(1.5 * GI), '1536Mi', '1536Mi'],
  ['2G', '2000000000', '2G', '1953125Ki'],
  ['2000000001', '2000000001', '2000000001', '2000000001'],
  ['2e9', '2000000000', '2e9', '1953125Ki'],
  ['1Ti', String(1024 * GI), '1Ti', '1Ti'],
]

test('the driver gets sizes in bytes, and the objects show canonical quantities', async (t) => {
  const at = await scene(t)
  for (const [index] of SIZES.entries()) await bound(t, { suffix: `-${index}` })
  for (const [index, [asked]] of SIZES.entries()) await ask(t, asked, t.name(`pvc-${index}`))
  for (const [index, [, bytes, allocated, stored]] of SIZES.entries()) {
    const claim = await resized(t, stored, t.name(`pvc-${index}`))
    equal(claim.status?.allocatedResources, { storage: allocated })
    equal((await getVolume(t, t.name(`pv-${index}`))).spec?.capacity, { storage: stored })
    const call = expands(at).find(({ request }) => request['volume_id'] === `${t.name(`pv-${index}`)}-handle`)
    equal(call?.request['capacity_range'], { required_bytes: bytes })
  }
})

interface RequestRow {
  readonly what: string
  readonly pv: VolumeParts
  readonly claim?: BoundParts['claim']
  readonly capable?: boolean
  readonly capability: object
}

const REQUESTS: readonly RequestRow[] = [
  {
    what: 'file system type and mount options',
    pv: { mountOptions: ['z', 'a'], csi: { fsType: 'xfs' } },
    capability: { mount: { fs_type: 'xfs', mount_flags: ['z', 'a'] }, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  },
  {
    what: 'a block volume',
    pv: { volumeMode: 'Block', mountOptions: ['ro'], csi: { fsType: 'xfs' } },
    claim: { volumeMode: 'Block' },
    capability: { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  },
  {
    what: 'ReadWriteMany',
    pv: { accessModes: ['ReadWriteMany'] },
    claim: { accessModes: ['ReadWriteMany'] },
    capability: { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } },
  },
  {
    what: 'ReadWriteOnce with SINGLE_NODE_MULTI_WRITER',
    pv: {},
    capable: true,
    capability: { mount: {}, access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' } },
  },
  {
    what: 'ReadWriteOncePod with SINGLE_NODE_MULTI_WRITER',
    pv: { accessModes: ['ReadWriteOncePod'] },
    claim: { accessModes: ['ReadWriteOncePod'] },
    capable: true,
    capability: { mount: {}, access_mode: { mode: 'SINGLE_NODE_SINGLE_WRITER' } },
  },
]

for (const { what, pv, claim = {}, capable = false, capability } of REQUESTS) {
  test(`the expansion request contains ${what}`, async (t) => {
    const at = await scene(t, {
      controller: ['EXPAND_VOLUME', ...(capable ? ['SINGLE_NODE_MULTI_WRITER' as const] : [])],
    })
    await grown(t, { pv, claim })
    equal(expands(at)[0]?.request['volume_capability'], capability)
  })
}

test('each expansion reads the Secret and sends it', async (t) => {
  const secretRef = await t.createSecret({ a: 'b' })
  const at = await scene(t)
  await grown(t, { pv: { csi: { controllerExpandSecretRef: secretRef } } })
  equal(expands(at)[0]?.request['secrets'], { a: 'b' })
  equal(at.resizer.gate.requestsOf('secrets').length, 1)
})

for (const [args, seconds] of [
  [[], 10],
  [['--resize-timeout=33s'], 33],
  [['--timeout=44s'], 44],
  [['--timeout=44s', '--resize-timeout=33s'], 44],
  [['--timeout=10s', '--resize-timeout=33s'], 10],
] as const) {
  test(`the deadline of an expansion with ${args.join(' ') || 'no flag'} is ${seconds} s`, async (t) => {
    const at = await scene(t, { args })
    await grown(t)
    const { timeoutMs = 0 } = expands(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}

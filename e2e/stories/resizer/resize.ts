import { deepStrictEqual as equal, ok } from 'node:assert'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, SECRETS } from '@csi-sidecars/kube-types'
import { partOf } from '../../harness/gate.ts'
import { secret, type VolumeParts } from '../../harness/objects.ts'
import { storiesOf } from '../../harness/story.ts'
import { eventually, never, pause } from '../../harness/waiting.ts'
import type { World } from '../../harness/world.ts'
import {
  ask,
  type BoundParts,
  bound,
  conditionsOf,
  eventsOf,
  expands,
  GI,
  getClaim,
  getVolume,
  NO_NODE_STEP,
  outline,
  PRE_RESIZE,
  patchStatus,
  resized,
  scene,
  statusWord,
  untilClaim,
  untilEvent,
} from './scene.ts'

const story = storiesOf('resizer', 'resize')

const NODE_STEP = { reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: true } }
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** A body with its times replaced, so that it can be compared. */
function timeless(body: unknown): unknown {
  const text = JSON.stringify(body, (_, value) => (typeof value === 'string' && TIME.test(value) ? 'TIME' : value))
  return JSON.parse(text)
}

story('without a node step: writes, bodies, call, events, in order', async (t) => {
  const at = await scene(t)
  const { pv } = await bound(t)
  await pause(300)
  const before = await getClaim(t)
  await ask(t, '2Gi')
  const claim = await resized(t, '2Gi')
  await untilEvent(t, 'VolumeResizeSuccessful')
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes), [
    'PATCH persistentvolumeclaims/status 200',
    'PATCH persistentvolumes 200',
    'PATCH persistentvolumeclaims/status 200',
  ])
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
  equal(volume?.body, { spec: { capacity: { storage: '2Gi' } } })
  const lastVersion = partOf(finish, 'metadata', 'resourceVersion')
  ok(typeof lastVersion === 'string')
  equal(timeless(finish?.body), {
    metadata: { annotations: { [NO_NODE_STEP]: 'true' }, resourceVersion: lastVersion },
    status: {
      allocatedResourceStatuses: null,
      capacity: { storage: '2Gi' },
      conditions: null,
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

story('with a node step: the rest is kubelet’s', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', NODE_STEP)
  const { pv } = await bound(t)
  await ask(t, '2Gi')
  const claim = await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  await untilEvent(t, 'FileSystemResizeRequired')
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes), [
    'PATCH persistentvolumeclaims/status 200',
    'PATCH persistentvolumes 200',
    'PATCH persistentvolumeclaims/status 200',
  ])
  equal(writes[1]?.body, { metadata: { annotations: { [PRE_RESIZE]: '1Gi' } }, spec: { capacity: { storage: '2Gi' } } })
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
  await never('another call', () => expands(at).length > 1, 700)
})

/** What kubelet writes when it has grown the file system. */
async function kubeletFinishes(t: World, size: string): Promise<void> {
  const conditions = null
  await patchStatus(t, t.name('pvc'), {
    status: { capacity: { storage: size }, allocatedResourceStatuses: null, conditions },
  })
}

story('after kubelet’s step the annotation of the PV goes', { alone: true }, async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', NODE_STEP)
  await bound(t)
  await ask(t, '2Gi')
  await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  await kubeletFinishes(t, '2Gi')
  await t.api.until(PERSISTENT_VOLUMES, { name: t.name('pv') }, ({ metadata }) => metadata?.annotations === undefined)
  await pause(300)
  const writes = await at.resizer.gate.settledWrites()
  equal(outline(t, writes).slice(3), ['PATCH persistentvolumes 200'])
  equal(writes[3]?.body, { metadata: { annotations: null } })
  equal(expands(at).length, 1)
})

story('AnnotateFsResize=false: no annotation on the PV', async (t) => {
  const at = await scene(t, { args: ['--feature-gates=AnnotateFsResize=false'] })
  at.driver.on('ControllerExpandVolume', NODE_STEP)
  await bound(t)
  await ask(t, '2Gi')
  await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  equal((await getVolume(t)).metadata?.annotations, undefined)
})

story('the annotation node-expansion-not-required is taken off by the next expansion', async (t) => {
  await scene(t)
  await bound(t, { claim: { metadata: { annotations: { [NO_NODE_STEP]: 'true', other: 'kept' } } } })
  const at = t.sidecars[0]
  t.drivers[0]?.on('ControllerExpandVolume', NODE_STEP)
  await ask(t, '2Gi')
  const claim = await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  equal(claim.metadata?.annotations, { other: 'kept' })
  const [mark] = (await at?.gate.settledWrites()) ?? []
  equal(partOf(mark, 'metadata', 'annotations'), { [NO_NODE_STEP]: null })
})

story('foreign conditions and foreign keys of the status stay', async (t) => {
  const at = await scene(t)
  const status = {
    conditions: [{ type: 'Foreign', status: 'True', reason: 'r', message: 'm' }],
    allocatedResources: { 'example.com/x': '5' },
    allocatedResourceStatuses: { 'example.com/x': 'NodeResizePending' },
  }
  await bound(t, { status })
  await ask(t, '2Gi')
  const claim = await resized(t, '2Gi')
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

story('the driver may give more than was asked', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', {
    reply: { capacityBytes: BigInt(3 * GI + 1024), nodeExpansionRequired: false },
  })
  await bound(t)
  await ask(t, '2Gi')
  const claim = await resized(t, '3145729Ki')
  equal(claim.status?.allocatedResources, { storage: '2Gi' })
  equal((await getVolume(t)).spec?.capacity, { storage: '3145729Ki' })
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

story('sizes: bytes to the driver, canonical forms in the objects', async (t) => {
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
  story(`the request carries ${what}`, async (t) => {
    const at = await scene(t, {
      controller: ['EXPAND_VOLUME', ...(capable ? ['SINGLE_NODE_MULTI_WRITER' as const] : [])],
    })
    await bound(t, { pv, claim })
    await ask(t, '2Gi')
    await resized(t, '2Gi')
    equal(expands(at)[0]?.request['volume_capability'], capability)
  })
}

story('the secret is read live and sent', async (t) => {
  const name = t.name('secret')
  await t.create(SECRETS, secret('default', name, { a: 'b' }))
  const at = await scene(t)
  await bound(t, { pv: { csi: { controllerExpandSecretRef: { name, namespace: 'default' } } } })
  await ask(t, '2Gi')
  await resized(t, '2Gi')
  equal(expands(at)[0]?.request['secrets'], { a: 'b' })
  equal(at.resizer.gate.requests.filter(({ resource }) => resource === 'secrets').length, 1)
})

for (const [args, seconds] of [
  [[], 10],
  [['--resize-timeout=33s'], 33],
  [['--timeout=44s'], 44],
  [['--timeout=44s', '--resize-timeout=33s'], 44],
  [['--timeout=10s', '--resize-timeout=33s'], 10],
] as const) {
  story(`the deadline with ${args.join(' ') || 'no flag'} is ${seconds} s`, async (t) => {
    const at = await scene(t, { args })
    await bound(t)
    await ask(t, '2Gi')
    await resized(t, '2Gi')
    const { timeoutMs = 0 } = expands(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}

story('a request that fits needs nothing', async (t) => {
  const at = await scene(t)
  await bound(t)
  await never('a write', () => at.resizer.gate.writes().length > 0, 800)
  equal(expands(at), [])
})

const NOT_OURS: readonly (readonly [what: string, parts: (t: World) => BoundParts])[] = [
  ['a volume of another driver', () => ({ pv: { csi: { driver: 'other.example.com' } } })],
  ['a volume that is not CSI', () => ({ pv: { csi: null, hostPath: { path: '/x' } } })],
  [
    'a volume bound to another claim',
    (t) => ({ pv: { claimRef: { namespace: 'default', name: t.name('pvc'), uid: 'another' } } }),
  ],
  [
    'a claim whose resizer annotation names us, while the volume is another’s',
    (t) => ({
      claim: { metadata: { annotations: { 'volume.kubernetes.io/storage-resizer': t.driverName } } },
      pv: { csi: { driver: 'other.example.com' } },
    }),
  ],
]

for (const [what, parts] of NOT_OURS) {
  story(`${what} is left alone`, async (t) => {
    const at = await scene(t)
    await bound(t, parts(t))
    await ask(t, '2Gi')
    await never('a write', () => at.resizer.gate.writes().length > 0, 1000)
    equal(expands(at), [])
  })
}

story('a claim that is not bound waits', async (t) => {
  const at = await scene(t)
  await bound(t)
  await ask(t, '2Gi').catch(() => undefined)
  await resized(t, '2Gi')
  const before = expands(at).length
  await patchStatus(t, t.name('pvc'), { status: { phase: 'Lost', capacity: { storage: '1Gi' } } })
  await never('a call', () => expands(at).length > before, 800)
})

story('the volume is missing: an error line, retried with backoff', async (t) => {
  const at = await scene(t, { args: ['--retry-interval-start=300ms'] })
  const { pv } = await bound(t)
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
  await pause(300)
  await ask(t, '2Gi')
  const text = `"Error syncing PVC" err="PV \\"${pv}\\" bound to pvc \\"default/${t.name('pvc')}\\" not found"`
  ok((await at.resizer.line(text)).startsWith('E'))
  await eventually('retries', () => at.resizer.linesWith(text).length >= 3)
})

story('a raised request found at start is served', async (t) => {
  const first = await scene(t)
  first.resizer.signal('SIGKILL')
  await first.resizer.end()
  await bound(t)
  await ask(t, '2Gi')
  await t.sidecar({ driver: first.driver })
  await resized(t, '2Gi')
})

story('raised during the call: the first size is finished, the larger follows', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', ({ request }) => {
    const { required_bytes } = request['capacity_range'] as { required_bytes: string }
    return { reply: { capacityBytes: BigInt(required_bytes), nodeExpansionRequired: false }, after: 700 }
  })
  await bound(t)
  await ask(t, '2Gi')
  await eventually('a call', () => expands(at).length > 0)
  await ask(t, '3Gi')
  await resized(t, '3Gi')
  const asked = expands(at).map(
    ({ request }) => (request['capacity_range'] as { required_bytes: string }).required_bytes,
  )
  equal([...new Set(asked)], [String(2 * GI), String(3 * GI)])
  ok(
    expands(at).every(({ start }, index, all) => start >= (all[index - 1]?.end ?? 0)),
    'one at a time',
  )
})

story('ten claims run in parallel', async (t) => {
  const at = await scene(t, { args: ['--kube-api-qps=1000', '--kube-api-burst=1000'] })
  at.driver.on('ControllerExpandVolume', {
    reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false },
    after: 1500,
  })
  const suffixes = Array.from({ length: 12 }, (_, index) => `-${index}`)
  for (const suffix of suffixes) await bound(t, { suffix })
  await Promise.all(suffixes.map((suffix) => ask(t, '2Gi', t.name(`pvc${suffix}`))))
  for (const suffix of suffixes) await resized(t, '2Gi', t.name(`pvc${suffix}`))
  const most = Math.max(
    ...expands(at).map(
      (each) => expands(at).filter(({ start, end = Infinity }) => start <= each.start && end > each.start).length,
    ),
  )
  equal(most, 10)
})

story('--workers=0: the process runs and works on nothing', async (t) => {
  const at = await scene(t, { args: ['--workers=0'] })
  await bound(t)
  await ask(t, '2Gi')
  await never('a call', () => expands(at).length > 0, 1500)
  equal(at.resizer.exit, undefined)
})

story('the claim is deleted during the call: nothing breaks', async (t) => {
  const at = await scene(t)
  at.driver.on('ControllerExpandVolume', {
    reply: { capacityBytes: BigInt(2 * GI), nodeExpansionRequired: false },
    after: 700,
  })
  const { pvc } = await bound(t)
  await ask(t, '2Gi')
  await eventually('a call', () => expands(at).length > 0)
  await t.api.delete(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: pvc })
  await bound(t, { suffix: '-b' })
  await ask(t, '2Gi', t.name('pvc-b'))
  await resized(t, '2Gi', t.name('pvc-b'))
  equal(at.resizer.exit, undefined)
})

story('node-only driver: no call, the volume gets the size, the rest is kubelet’s', async (t) => {
  const driver = await t.driver({ controller: [], node: ['EXPAND_VOLUME'] })
  const at = await scene(t, { driver })
  ok(
    (await at.resizer.line('using trivial resizer')).includes(
      '"The CSI driver supports node resize only, using trivial resizer to handle resize requests"',
    ),
  )
  await bound(t)
  await ask(t, '2G')
  const claim = await untilClaim(t, (each) => statusWord(each) === 'NodeResizePending')
  equal(expands(at), [])
  equal(claim.status?.allocatedResources, { storage: '2G' })
  const volume = await getVolume(t)
  equal(volume.spec?.capacity, { storage: '2G' })
  equal(volume.metadata?.annotations, { [PRE_RESIZE]: '1Gi' })
  await untilEvent(t, 'FileSystemResizeRequired')
})

story('a bound claim without a capacity counts as empty', { only: 'ours' }, async (t) => {
  const at = await scene(t)
  const { pvc } = await bound(t, { size: '2Gi', volumeSize: '1Gi' })
  await patchStatus(t, pvc, { status: { capacity: null } })
  await resized(t, '2Gi')
  equal(at.resizer.exit, undefined)
})

story('--worker-threads is understood here too', { only: 'ours' }, async (t) => {
  await scene(t, { args: ['--worker-threads=3'] })
  await bound(t)
  await ask(t, '2Gi')
  await resized(t, '2Gi')
})

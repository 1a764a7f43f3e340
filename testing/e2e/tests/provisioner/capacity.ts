import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  type CSIStorageCapacity,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { pod } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { SidecarSetup, TestContext } from '../../harness/context.ts'
import { type Call, createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  affinityTo,
  calls,
  createClaim,
  createClass,
  createNodes,
  GI,
  LATE,
  type ProvisionerScene,
  released,
  SELECTED_NODE,
  scene,
} from '../../rows/provisioner/scene.ts'

const test = testsOf('provisioner', 'capacity')
const SSD = { ...LATE, parameters: { kind: 'ssd' } }
const MANAGED = 'csi.storage.k8s.io/managed-by'
const SITES = {
  a: { keys: ['zone'], labels: { zone: 'z1' } },
  b: { keys: ['zone'], labels: { zone: 'z2' } },
  copy: { keys: ['zone'], labels: { zone: 'z2' } },
  bare: { keys: ['zone'], labels: {} },
}
export const CAPACITY_RULES = [
  ...FACTS.provisioner.rules,
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['csistoragecapacities'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'delete'],
  },
  { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['replicasets'], verbs: ['get'] },
]

interface Setup extends SidecarSetup {
  readonly sites?: Parameters<typeof createNodes>[1]
  readonly prepare?: (driver: FakeDriver) => void
}

const answer = (driver: FakeDriver, availableCapacity: bigint): void =>
  driver.on('GetCapacity', { reply: { availableCapacity } })

/** Creates a class with late binding, and starts a provisioner that publishes capacity in a namespace of the test. */
async function ready(t: TestContext, { sites = SITES, prepare, ...setup }: Setup = {}): Promise<ProvisionerScene> {
  await t.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: t.name('ns') } })
  await createNodes(t, sites)
  const { args = [], env } = setup
  return await scene(t, {
    ...setup,
    topology: true,
    class: SSD,
    args: ['--enable-capacity', '--capacity-ownerref-level=-1', ...LIMITS, ...args],
    env: { NAMESPACE: t.name('ns'), ...env },
    user: await userWith(t, CAPACITY_RULES),
    prepare: (driver) => {
      answer(driver, BigInt(GI))
      prepare?.(driver)
    },
  })
}

/** Flags for fast writes of CSIStorageCapacity objects. By default, the Go sidecar writes one object a second. */
const LIMITS = ['--kube-api-capacity-qps=100', '--kube-api-capacity-burst=100']

const objectsOf = (t: TestContext): Promise<readonly CSIStorageCapacity[]> =>
  t.api.list(CSI_STORAGE_CAPACITIES, t.name('ns'))

/** Returns the objects as `class topology capacity`, without the ID of the test. */
async function capacityText(t: TestContext): Promise<string> {
  const all = await objectsOf(t)
  const lines = all.map(({ storageClassName, nodeTopology, capacity, maximumVolumeSize }) => {
    const values = Object.values(nodeTopology?.matchLabels ?? {}).join()
    return [storageClassName.replace(`${t.id}-`, ''), values, capacity, maximumVolumeSize].filter(Boolean).join(' ')
  })
  return lines.sort().join(', ')
}

function published(t: TestContext, expected: string): Promise<true> {
  return eventually(`the objects ${expected}`, async () => {
    const found = await capacityText(t)
    if (found === expected) return true
    throw new Error(`the objects are ${found}`)
  })
}

interface CapacityParts {
  readonly namespace: string
  readonly name: string
  readonly storageClassName?: string
  readonly managedBy?: string
}

/** Creates an object of an earlier provisioner, for the topology z1. */
async function createOld(t: TestContext, fields: CapacityParts): Promise<void> {
  const { namespace, name, storageClassName = t.name('class'), managedBy = 'external-provisioner' } = fields
  const labels = { 'csi.storage.k8s.io/drivername': t.driverName, [MANAGED]: managedBy }
  await t.create(CSI_STORAGE_CAPACITIES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { namespace, name, labels },
    storageClassName,
    nodeTopology: { matchLabels: { zone: 'z1' } },
    capacity: '5Gi',
  })
}

const segmentsOf = ({ request }: Call): unknown =>
  (request['accessible_topology'] as { segments?: object } | undefined)?.segments ?? {}
const asked = (driver: FakeDriver): Call[] => driver.callsOf('GetCapacity')

test('the provisioner creates one CSIStorageCapacity for each class with late binding and each topology', async (t) => {
  const { driver } = await ready(t, {
    prepare: (each) => each.on('GetCapacity', { reply: { availableCapacity: BigInt(GI), maximumVolumeSize: 1000n } }),
  })
  await createClass(t, {}, 'immediate')
  await createClass(t, { provisioner: 'other.example.com', volumeBindingMode: 'WaitForFirstConsumer' }, 'other')
  await published(t, 'class z1 1Gi 1k, class z2 1Gi 1k')
  const [object] = await objectsOf(t)
  ok(object?.metadata?.name?.startsWith('csisc-'))
  equal(object?.metadata?.labels, { 'csi.storage.k8s.io/drivername': t.driverName, [MANAGED]: 'external-provisioner' })
  equal(object?.metadata?.ownerReferences, undefined)
  equal(Object.keys(object?.nodeTopology ?? {}), ['matchLabels'])
  for (const call of asked(driver)) {
    equal([call.request['parameters'], call.request['volume_capabilities']], [{ kind: 'ssd' }, undefined])
  }
  equal(new Set(asked(driver).map((call) => JSON.stringify(segmentsOf(call)))).size, 2)
  if (t.ours) equal(asked(driver).length, 2)
})

test('CSIStorageCapacity objects follow changes of node labels, CSINodes and StorageClasses', async (t) => {
  await ready(t)
  await published(t, 'class z1 1Gi, class z2 1Gi')
  await t.api.merge(NODES, { name: t.name('a') }, { metadata: { labels: { zone: 'z3' } } })
  await published(t, 'class z2 1Gi, class z3 1Gi')
  await t.strip(CSI_NODES, { name: t.name('a') })
  await published(t, 'class z2 1Gi')
  await createClass(t, SSD, 'more')
  await published(t, 'class z2 1Gi, more z2 1Gi')
  await t.api.delete(STORAGE_CLASSES, { name: t.name('class') })
  await published(t, 'more z2 1Gi')
})

test('--capacity-for-immediate-binding adds CSIStorageCapacity objects for classes with immediate binding', async (t) => {
  await ready(t, { args: ['--capacity-for-immediate-binding'] })
  await createClass(t, {}, 'immediate')
  await published(t, 'class z1 1Gi, class z2 1Gi, immediate z1 1Gi, immediate z2 1Gi')
})

test('a capacity poll writes only changed CSIStorageCapacity objects, and repairs edited objects', async (t) => {
  const { driver, sidecar } = await ready(t, { args: ['--capacity-poll-interval=1s'] })
  await published(t, 'class z1 1Gi, class z2 1Gi')
  const writes = (): number => sidecar.gate.writes('csistoragecapacities').length
  const polled = async (times: number): Promise<void> => {
    const before = asked(driver).length
    await eventually(`${times} polls`, () => asked(driver).length >= before + 2 * times)
  }
  await polled(1)
  const before = writes()
  await polled(2)
  equal(writes(), before)
  answer(driver, 2n * BigInt(GI))
  await published(t, 'class z1 2Gi, class z2 2Gi')
  const [object] = await objectsOf(t)
  const ref = { namespace: t.name('ns'), name: object?.metadata?.name ?? '' }
  await t.api.merge(CSI_STORAGE_CAPACITIES, ref, { capacity: '7Gi' })
  await published(t, 'class z1 2Gi, class z2 2Gi')
  equal((await objectsOf(t)).map(({ metadata }) => metadata?.name).includes(ref.name), true)
})

test('a CSIStorageCapacity that is deleted or loses the label of its manager is created again at once', async (t) => {
  const { sidecar } = await ready(t)
  await published(t, 'class z1 1Gi, class z2 1Gi')
  const [first, second] = (await objectsOf(t)).map(({ metadata }) => metadata?.name ?? '')
  const namespace = t.name('ns')
  await t.api.delete(CSI_STORAGE_CAPACITIES, { namespace, name: first ?? '' })
  const unmanaged = { metadata: { labels: { [MANAGED]: null } } }
  await t.api.merge(CSI_STORAGE_CAPACITIES, { namespace, name: second ?? '' }, unmanaged)
  await eventually('two other objects', async () => {
    const managed = (await objectsOf(t)).filter(({ metadata }) => metadata?.labels?.[MANAGED] !== undefined)
    return managed.length === 2 && managed.every(({ metadata }) => ![first, second].includes(metadata?.name))
  })
  const numbers = async (): Promise<string> => {
    const metrics = await sidecar.metrics()
    const names = ['desired_goal', 'desired_current', 'obsolete']
    return names.map((name) => metrics.value(`csistoragecapacities_${name}`, {})).join()
  }
  await eventually('the metrics 2, 2, 0', async () => (await numbers()) === '2,2,0')
  const { families } = await sidecar.metrics()
  equal(
    families.get('csistoragecapacities_obsolete')?.help,
    '[ALPHA] Number of CSIStorageCapacity objects that exist and will be deleted automatically. Objects that exist and may need an update are not considered obsolete and therefore not included in this value.',
  )
})

test('a new provisioner reuses or deletes CSIStorageCapacity objects of earlier processes, but not of other managers', async (t) => {
  await t.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: t.name('early') } })
  const namespace = t.name('early')
  await createOld(t, { namespace, name: 'gone', storageClassName: t.name('none') })
  await createOld(t, { namespace, name: 'used' })
  await createOld(t, { namespace, name: 'twice' })
  await createOld(t, { namespace, name: 'foreign', managedBy: 'another-provisioner' })
  await ready(t, { env: { NAMESPACE: t.name('early') } })
  const capacities = async (): Promise<readonly (string | undefined)[]> =>
    (await t.api.list(CSI_STORAGE_CAPACITIES, t.name('early'))).map(({ metadata, capacity }) =>
      [metadata?.name?.replace(/csisc-.*/, 'new'), capacity].join(' '),
    )
  await eventually('three objects', async () => {
    const found = [...(await capacities())].sort().join()
    return found === 'foreign 5Gi,new 1Gi,used 1Gi' || found === 'foreign 5Gi,new 1Gi,twice 1Gi'
  })
})

test('a failed GetCapacity call for one topology does not delay the CSIStorageCapacity of another topology', async (t) => {
  const { driver } = await ready(t, {
    args: ['--retry-interval-start=300ms'],
    prepare: (each) =>
      each.on('GetCapacity', (call, nth) =>
        nth < 6 && JSON.stringify(segmentsOf(call)).includes('z1')
          ? { code: 13, message: 'broken' }
          : { reply: { availableCapacity: BigInt(GI) } },
      ),
  })
  await published(t, 'class z2 1Gi')
  await published(t, 'class z1 1Gi, class z2 1Gi')
  ok(asked(driver).length >= 7)
})

test('a failed GetCapacity call is repeated only at a poll or after a back-off', { only: 'ours' }, async (t) => {
  const { driver } = await ready(t, {
    sites: { a: SITES.a },
    args: ['--retry-interval-start=1s', '--retry-interval-max=1s', '--capacity-poll-interval=1s'],
    prepare: (each) => each.on('GetCapacity', { code: 13, message: 'broken' }),
  })
  // Each second has a poll and a retry.
  const starts = (await calls(driver, 'GetCapacity', 9)).map(({ start }) => start)
  const took = (starts[8] ?? 0) - (starts[0] ?? 0)
  ok(took >= 2_700, `nine calls in ${took} ms`)
})

test('the creation and the deletion of a volume refresh the CSIStorageCapacity of its topology', async (t) => {
  const { driver } = await ready(t)
  driver.on('CreateVolume', ({ request }, nth) =>
    nth === 0
      ? { code: 13, message: 'broken' }
      : { reply: { volume: createdVolume(request, { accessibleTopology: [{ segments: { zone: 'z2' } }] }) } },
  )
  await published(t, 'class z1 1Gi, class z2 1Gi')
  // The questions for a later class come after all questions for the first class.
  await createClass(t, SSD, 'later')
  await published(t, 'class z1 1Gi, class z2 1Gi, later z1 1Gi, later z2 1Gi')
  await t.api.delete(STORAGE_CLASSES, { name: t.name('later') })
  await published(t, 'class z1 1Gi, class z2 1Gi')
  const since = asked(driver).length
  const newLines = (): string =>
    asked(driver)
      .slice(since)
      .map((call) => Object.values(segmentsOf(call) ?? {}).join())
      .sort()
      .join()
  const settled = (expected: string) => eventually(`questions ${expected}`, () => newLines() === expected || undefined)
  await createClaim(t, { annotations: { [SELECTED_NODE]: t.name('a') } })
  // The failed creation causes GetCapacity calls for z1 and z2, the successful creation for the volume's zone z2.
  await settled('z1,z2,z2')
  await released(t, { spec: { nodeAffinity: affinityTo('zone', 'z1') } })
  await calls(driver, 'DeleteVolume')
  await eventually('a question about z1', () => newLines().startsWith('z1,z1,z2'))
  ok((await t.api.list(PERSISTENT_VOLUME_CLAIMS, t.namespace)).length > 0)
})

for (const [level, kind] of [
  [0, 'Pod'],
  [1, 'ReplicaSet'],
] as const) {
  test(`--capacity-ownerref-level=${level} makes the ${kind} the owner of new and old CSIStorageCapacity objects`, async (t) => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: t.name('rs'), uid: 'rs-uid', controller: true }
    const made = await t.create(PODS, {
      ...pod('default', t.name('pod'), []),
      metadata: { namespace: 'default', name: t.name('pod'), ownerReferences: [owner] },
    })
    await createOld(t, { namespace: 'default', name: t.name('old') })
    await ready(t, {
      sites: { a: SITES.a },
      args: [`--capacity-ownerref-level=${level}`],
      env: { NAMESPACE: 'default', POD_NAME: t.name('pod') },
    })
    const expected =
      level === 1
        ? owner
        : { apiVersion: 'v1', kind: 'Pod', name: t.name('pod'), uid: made.metadata?.uid, controller: true }
    const ref = { namespace: 'default', name: t.name('old') }
    const { metadata } = await t.api.until(
      CSI_STORAGE_CAPACITIES,
      ref,
      (each) => (each.metadata?.ownerReferences ?? []).length > 0,
    )
    equal(metadata?.ownerReferences, [expected])
  })
}

for (const [args, env, text] of [
  [[], {}, 'need NAMESPACE env variable for CSIStorageCapacity objects'],
  [[], { NAMESPACE: 'default' }, 'need POD_NAME env variable to determine CSIStorageCapacity owner'],
  [[], { NAMESPACE: 'default', POD_NAME: 'none' }, 'look up owner(s) of pod: get object: pods "none" not found'],
  [
    ['--capacity-ownerref-level=1'],
    { NAMESPACE: 'default', POD_NAME: 'POD' },
    'look up owner(s) of pod: v1/Pod "POD" in namespace "default" has no controlling owner, cannot unwind the ownership further',
  ],
] as const) {
  test(`a provisioner with capacity tracking ends at the start with the error: ${text}`, async (t) => {
    const name = t.name('pod')
    await t.create(PODS, pod('default', name, []))
    const named = Object.fromEntries(Object.entries(env).map(([key, value]) => [key, value.replace('POD', name)]))
    const driver = await t.driver({ controller: ['CREATE_DELETE_VOLUME'], topology: true })
    const user = await userWith(t, CAPACITY_RULES)
    const sidecar = await t.sidecar({ driver, user, args: ['--enable-capacity', ...args], env: named })
    ok(((await sidecar.end()).code ?? 0) !== 0)
    ok(sidecar.stderr.includes(text.replace('"POD"', `"${name}"`)), sidecar.stderr.slice(0, 500))
  })
}

import { deepStrictEqual as equal, ok } from 'node:assert'
import {
  CSI_NODES,
  CSI_STORAGE_CAPACITIES,
  type CSIStorageCapacity,
  NODES,
  PODS,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { pod } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Call, DriverReply } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { answering, deleted, failure, merged, waiting, withoutFinalizers } from '../../rows/actions.ts'
import {
  claimed,
  classCreated,
  provisionerRows,
  started,
  volumeAnswer,
  volumeReleased,
} from '../../rows/provisioner/rows.ts'
import { affinityTo, createNodes, GI, LATE, SELECTED_NODE, scene } from '../../rows/provisioner/scene.ts'
import type { Action } from '../../rows/row.ts'

/** Rows about CSIStorageCapacity objects. Their traces name these objects by class and topology. */

const SSD = { ...LATE, parameters: { kind: 'ssd' } }
const MANAGED = 'csi.storage.k8s.io/managed-by'
const SITES = {
  a: { keys: ['zone'], labels: { zone: 'z1' } },
  b: { keys: ['zone'], labels: { zone: 'z2' } },
  copy: { keys: ['zone'], labels: { zone: 'z2' } },
  bare: { keys: ['zone'], labels: {} },
}
/** The permissions that the chart adds for capacity tracking. */
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

/** With the last flags, the Go provisioner writes more than one CSIStorageCapacity in a second. */
const ARGS = ['--enable-capacity', '--kube-api-capacity-qps=100', '--kube-api-capacity-burst=100']
const NO_OWNER = '--capacity-ownerref-level=-1'
const available = (gi: number): DriverReply => ({ reply: { availableCapacity: BigInt(gi * GI) } })
const QUICK = ['--retry-interval-start=300ms', '--retry-interval-max=300ms']

const SETUP = {
  startsLater: true,
  class: SSD,
  nodes: SITES,
  rules: CAPACITY_RULES,
  args: [...ARGS, NO_OWNER, '--capacity-poll-interval=1h'],
  env: { NAMESPACE: 'default' },
  answers: { GetCapacity: [available(1)] },
} as const
const row = provisionerRows('capacity', import.meta.filename, SETUP)

row('the provisioner creates one CSIStorageCapacity for each class with late binding and each topology', {
  anyOrder: true,
  setup: { answers: { GetCapacity: [{ reply: { availableCapacity: BigInt(GI), maximumVolumeSize: 1000n } }] } },
  steps: [
    started,
    classCreated({}, 'immediate'),
    classCreated({ ...LATE, provisioner: 'other.example.com' }, 'of-another'),
  ],
})
row('CSIStorageCapacity objects follow changes of node labels, CSINodes and StorageClasses', {
  anyOrder: true,
  steps: [
    started,
    merged(NODES, 'a', { metadata: { labels: { zone: 'z3' } } }),
    withoutFinalizers(CSI_NODES, 'a'),
    classCreated(SSD, 'more'),
    deleted(STORAGE_CLASSES, 'class'),
  ],
})
row('--capacity-for-immediate-binding adds CSIStorageCapacity objects for classes with immediate binding', {
  anyOrder: true,
  setup: { args: [...SETUP.args, '--capacity-for-immediate-binding'] },
  steps: [started, classCreated({}, 'immediate')],
})

const inZone = ({ storageClassName, nodeTopology }: CSIStorageCapacity): string =>
  `${storageClassName} ${nodeTopology?.matchLabels?.['zone']}`

/** Changes the CSIStorageCapacity of the class for a zone, or deletes it. */
function capacityChanged(zone: string, change: object | 'delete'): Action<unknown> {
  const run = async (t: TestContext): Promise<void> => {
    const objects = await t.api.list(CSI_STORAGE_CAPACITIES, t.namespace)
    const object = objects.find((each) => inZone(each) === `${t.name('class')} ${zone}`)
    const ref = { namespace: t.namespace, name: object?.metadata?.name ?? '' }
    if (change === 'delete') await t.api.delete(CSI_STORAGE_CAPACITIES, ref)
    else await t.api.merge(CSI_STORAGE_CAPACITIES, ref, change)
  }
  return { name: `${change === 'delete' ? 'delete' : 'change'} the CSIStorageCapacity of ${zone}`, run }
}
row('a capacity poll writes changed CSIStorageCapacity objects, and repairs edited objects', {
  anyOrder: true,
  setup: { args: [...SETUP.args, '--capacity-poll-interval=1s'] },
  steps: [started, [answering({ GetCapacity: [available(2)] }), waiting], capacityChanged('z1', { capacity: '7Gi' })],
})
row('a CSIStorageCapacity that is deleted or loses the label of its manager is created again at once', {
  anyOrder: true,
  steps: [
    started,
    capacityChanged('z1', 'delete'),
    capacityChanged('z2', { metadata: { labels: { [MANAGED]: null } } }),
  ],
})

interface OldParts {
  readonly storageClass?: string
  readonly managedBy?: string
}

/** Creates an object of an earlier provisioner, for the topology z1. */
function oldCreated(suffix: string, fields: OldParts = {}): Action<unknown> {
  const { storageClass = 'class', managedBy = 'external-provisioner' } = fields
  const create = (t: TestContext): Promise<unknown> =>
    t.create(CSI_STORAGE_CAPACITIES, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIStorageCapacity',
      metadata: {
        namespace: t.namespace,
        name: t.name(suffix),
        labels: { 'csi.storage.k8s.io/drivername': t.driverName, [MANAGED]: managedBy },
      },
      storageClassName: t.name(storageClass),
      nodeTopology: { matchLabels: { zone: 'z1' } },
      capacity: '5Gi',
    })
  return { name: `create CSIStorageCapacity ${suffix}`, run: create }
}
row('a new provisioner reuses or deletes CSIStorageCapacity objects of earlier processes, but not of other managers', {
  anyOrder: true,
  steps: [
    oldCreated('gone', { storageClass: 'none' }),
    oldCreated('used'),
    oldCreated('foreign', { managedBy: 'another-provisioner' }),
    started,
  ],
})

const BROKEN = failure(13, 'broken')
const brokenInZ1 = ({ request }: Call): DriverReply =>
  JSON.stringify(request['accessible_topology']).includes('z1') ? BROKEN : available(1)
row('a failed GetCapacity call for one topology does not delay the CSIStorageCapacity of another topology', {
  anyOrder: true,
  setup: { args: [...SETUP.args, ...QUICK], answers: { GetCapacity: [brokenInZ1] } },
  steps: [started, [answering({ GetCapacity: [available(1)] }), waiting]],
})
// The volume is created in the topology z2.
row('the creation and the deletion of a volume refresh the CSIStorageCapacity of its topology', {
  anyOrder: true,
  setup: {
    args: [...SETUP.args, ...QUICK],
    answers: {
      ...SETUP.answers,
      CreateVolume: [BROKEN, volumeAnswer({ accessibleTopology: [{ segments: { zone: 'z2' } }] })],
    },
  },
  steps: [
    started,
    claimed((t) => ({ annotations: { [SELECTED_NODE]: t.name('a') } })),
    volumeReleased({ spec: { nodeAffinity: affinityTo('zone', 'z1') } }),
  ],
})

const podOfReplicaSet: Action<unknown> = {
  name: 'create Pod pod of a ReplicaSet',
  run: (t) => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: t.name('rs'), uid: 'rs-uid', controller: true }
    const metadata = { namespace: t.namespace, name: t.name('pod'), ownerReferences: [owner] }
    return t.create(PODS, { ...pod(t.namespace, t.name('pod'), []), metadata })
  },
}
for (const [level, kind] of [
  [0, 'Pod'],
  [1, 'ReplicaSet'],
] as const) {
  row(`--capacity-ownerref-level=${level} makes the ${kind} the owner of new and old CSIStorageCapacity objects`, {
    anyOrder: true,
    setup: {
      args: [...ARGS, `--capacity-ownerref-level=${level}`],
      env: (t) => ({ NAMESPACE: 'default', POD_NAME: t.name('pod') }),
    },
    steps: [podOfReplicaSet, oldCreated('old'), started],
  })
}

const test = testsOf('provisioner', 'capacity')

test('the metrics count required, current and obsolete CSIStorageCapacity objects', async (t) => {
  await createNodes(t, SITES)
  const { sidecar } = await scene(t, {
    ...SETUP,
    topology: true,
    user: await userWith(t, CAPACITY_RULES),
    prepare: (driver) => driver.on('GetCapacity', available(1)),
  })
  const metrics = ['desired_goal', 'desired_current', 'obsolete'].map((name) => `csistoragecapacities_${name}`)
  await eventually('the metrics 2, 2, 0', async () => {
    const { value } = await sidecar.metrics()
    return metrics.map((name) => value(name, {})).join() === '2,2,0'
  })
  equal(
    (await sidecar.metrics()).families.get('csistoragecapacities_obsolete')?.help,
    '[ALPHA] Number of CSIStorageCapacity objects that exist and will be deleted automatically. Objects that exist and may need an update are not considered obsolete and therefore not included in this value.',
  )
})

test('a failed GetCapacity call is repeated only at a poll or after a back-off', { only: 'ours' }, async (t) => {
  await createNodes(t, { a: SITES.a })
  const { driver } = await scene(t, {
    ...SETUP,
    topology: true,
    args: [...SETUP.args, '--retry-interval-start=1s', '--retry-interval-max=1s', '--capacity-poll-interval=1s'],
    user: await userWith(t, CAPACITY_RULES),
    prepare: (each) => each.on('GetCapacity', BROKEN),
  })
  // Each second has a poll and a retry.
  const starts = await eventually('nine calls', () => {
    const calls = driver.callsOf('GetCapacity')
    return calls.length >= 9 && calls.map(({ start }) => start)
  })
  const took = (starts[8] ?? 0) - (starts[0] ?? 0)
  ok(took >= 2_700, `nine calls in ${took} ms`)
})

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

import type { PolicyRule } from '@csi-sidecars/kube-types'
import type { NameOnRequest } from '@csi-sidecars/sidecars'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { expect, it } from '@jest/globals'
import { exampleFile, type RenderOptions, render } from './helm.ts'
import { named, ofKind, sidecar } from './manifest.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

const READ = ['get', 'list', 'watch']
const rule = (apiGroup: string, resource: string, verbs: readonly string[]): PolicyRule => ({
  apiGroups: [apiGroup],
  resources: [resource],
  verbs: [...verbs],
})

/** The permissions that the sidecars need, and that the charts of CSI drivers grant today. */
const ATTACHER = [
  rule('', 'persistentvolumes', [...READ, 'patch']),
  rule('storage.k8s.io', 'csinodes', READ),
  rule('storage.k8s.io', 'volumeattachments', [...READ, 'patch']),
  rule('storage.k8s.io', 'volumeattachments/status', ['patch']),
  rule('', 'events', ['create', 'patch']),
]
const PODS = rule('', 'pods', READ)
const RESIZER = [
  rule('', 'persistentvolumes', [...READ, 'patch']),
  rule('', 'persistentvolumeclaims', READ),
  rule('', 'persistentvolumeclaims/status', ['patch']),
  PODS,
  rule('', 'events', ['create', 'patch']),
  rule('storage.k8s.io', 'volumeattributesclasses', READ),
]
const PROVISIONER = publishedRules('provisioner')
const SNAPSHOTTER = publishedRules('snapshotter')

/** Returns the rules in the charts of CSI drivers, except Secrets, Leases, and the verb `update` of the snapshotter. */
function publishedRules(app: NameOnRequest): readonly PolicyRule[] {
  return FACTS[app].rules
    .filter(({ resources }) => !resources.includes('secrets') && !resources.includes('leases'))
    .map(({ apiGroups, resources, verbs }) => ({
      apiGroups: [...apiGroups],
      resources: [...resources],
      verbs: verbs.filter((verb) => app === 'provisioner' || verb !== 'update'),
    }))
}

const leases = (...resourceNames: string[]): PolicyRule[] => [
  rule('coordination.k8s.io', 'leases', ['create']),
  { ...rule('coordination.k8s.io', 'leases', ['get', 'watch', 'update']), resourceNames },
  rule('', 'events', ['create', 'patch']),
]
/** Disabled sidecars are included, because their last replicas may still hold their Leases. */
const leaseNames = (driver: string): readonly string[] =>
  ['external-attacher-leader-', 'external-resizer-', '', 'external-snapshotter-leader-'].map(
    (prefix) => `${prefix}${driver}`,
  )
const SECRETS = rule('', 'secrets', ['get'])

withHelm('rendered rules', () => {
  const objectsOf = (values: object = {}) => render(withValues(values))
  const withValues = (values: object): RenderOptions => ({
    values: merged(readValues(exampleFile('driver')), { ...values }),
  })
  const clusterRules = (app: string, values: object = {}) =>
    named(objectsOf(values), 'ClusterRole', `demo-csi-sidecars-external-${app}-role`).rules

  it('the ClusterRole of the attacher has exactly the permissions that the attacher needs', () => {
    expect(clusterRules('attacher')).toEqual(ATTACHER)
  })

  it('the ClusterRole of the resizer has exactly the permissions that the resizer needs', () => {
    expect(clusterRules('resizer')).toEqual(RESIZER)
  })

  it('the resizer may not read VolumeAttributesClasses if their feature gate is off', () => {
    const values = { resizer: { featureGates: { VolumeAttributesClass: false } } }
    expect(clusterRules('resizer', values)).toEqual(RESIZER.slice(0, -1))
  })

  /** Returns one text for each resource of the rules, whatever resources a rule combines. */
  const sorted = (rules: readonly PolicyRule[] = []): readonly string[] =>
    rules
      .flatMap(({ resources = [], ...rest }) => resources.map((each) => JSON.stringify({ ...rest, resources: [each] })))
      .sort()
  const withoutNodes = PROVISIONER.map(({ resources = [], ...rest }) => ({
    ...rest,
    resources: resources.filter((each) => !['nodes', 'csinodes'].includes(each)),
  }))

  it.each([
    ['provisioner', {}, PROVISIONER],
    ['snapshotter', {}, SNAPSHOTTER],
    [
      'provisioner',
      { featureGates: { VolumeAttributesClass: false } },
      PROVISIONER.filter(({ resources }) => !resources?.includes('volumeattributesclasses')),
    ],
    ['provisioner', { featureGates: { Topology: false } }, withoutNodes],
    ['provisioner', { featureGates: { Topology: false }, capacity: { enabled: true } }, PROVISIONER],
    [
      'snapshotter',
      { featureGates: { CSIVolumeGroupSnapshot: false } },
      SNAPSHOTTER.filter(({ apiGroups }) => !apiGroups?.includes('groupsnapshot.storage.k8s.io')),
    ],
  ])(
    'the ClusterRole of the %s with %j equals the permissions that charts of drivers grant',
    (app, values, expected) => {
      expect(sorted(clusterRules(app, { [app]: { enabled: true, ...values } }))).toEqual(sorted(expected))
    },
  )

  it('the snapshotter may read VolumeSnapshots and VolumeGroupSnapshots only with templates in parameters', () => {
    const added = [
      rule('snapshot.storage.k8s.io', 'volumesnapshots', ['get']),
      rule('groupsnapshot.storage.k8s.io', 'volumegroupsnapshots', ['get']),
    ]
    const values = { snapshotter: { enabled: true, parameterTemplates: true } }
    expect(sorted(clusterRules('snapshotter', values))).toEqual(sorted([...SNAPSHOTTER, ...added]))
  })

  it('a provisioner on each node reads no Nodes, because its driver names the topology of the node', () => {
    const objects = render({ files: [exampleFile('node-local')] })
    const { rules } = named(objects, 'ClusterRole', 'demo-csi-sidecars-external-provisioner-role')
    expect(sorted(rules)).toEqual(sorted(withoutNodes))
  })

  it.each([
    ['Deployment', null, '--capacity-ownerref-level=2', ['csistoragecapacities', 'pods', 'replicasets']],
    ['StatefulSet', null, '--capacity-ownerref-level=1', ['csistoragecapacities', 'pods']],
    ['Deployment', -1, '--capacity-ownerref-level=-1', ['csistoragecapacities']],
  ])(
    'a provisioner in a %s with capacity.ownerLevel %p gets %s and permissions for %s',
    (kind, ownerLevel, flag, resources) => {
      const provisioner = { enabled: true, capacity: { enabled: true, ownerLevel } }
      const objects = objectsOf({ provisioner, controller: { kind } })
      const { metadata, rules } = named(objects, 'Role', 'demo-csi-sidecars-capacity')
      expect(metadata.namespace).toBe('storage')
      expect(rules?.flatMap((each) => each.resources)).toEqual(resources)
      const { args, env } = sidecar(objects, 'provisioner')
      expect(args).toContain(flag)
      expect(env?.map(({ name }) => name)).toEqual(['POD_NAMESPACE', 'NAMESPACE', 'POD_NAME'])
      expect(ofKind(objectsOf({ provisioner: { enabled: true } }), 'Role')).toHaveLength(1)
    },
  )

  it('CSIStorageCapacity objects in another cluster have no owner, because the pod is not there', () => {
    const capacity = { provisioner: { enabled: true, capacity: { enabled: true } }, rbac: { create: true } }
    const values = merged(readValues(exampleFile('hosted-control-plane')), capacity)
    const objects = render({ values })
    expect(sidecar(objects, 'provisioner').args).toContain('--capacity-ownerref-level=-1')
    const { rules } = named(objects, 'Role', 'demo-csi-sidecars-capacity')
    expect(rules?.flatMap((each) => each.resources)).toEqual(['csistoragecapacities'])
  })

  it('the Role for Leases is in the namespace of leader election', () => {
    const objects = objectsOf({ leaderElection: { namespace: 'leases' } })
    const role = named(objects, 'Role', 'demo-csi-sidecars-leases')
    expect(role.rules).toEqual(leases(...leaseNames('example-csi-k8s-io')))
    expect(role.metadata.namespace).toBe('leases')
    expect(named(objects, 'RoleBinding', 'demo-csi-sidecars-leases').metadata.namespace).toBe('leases')
  })

  it.each([
    ['csi.example.com', '', 'csi-example-com'],
    ['Some.Driver-1', '', 'Some-Driver-1'],
    ['csi.example.com', 'one-lease', 'csi-example-com'],
  ])('the Role for Leases names all Leases of driver %s, with single Lease "%s"', (name, singleLease, suffix) => {
    const one = { driver: { name }, ...(singleLease && { process: 'one', sidecars: { singleLease } }) }
    const role = named(objectsOf(one), 'Role', 'demo-csi-sidecars-leases')
    expect(role.rules).toEqual(leases(...leaseNames(suffix), ...(singleLease ? [singleLease] : [])))
  })

  it('the Role allows all Leases of the namespace if driver.name is empty', () => {
    const role = named(objectsOf({ driver: { name: '' } }), 'Role', 'demo-csi-sidecars-leases')
    expect(role.rules?.[0]).toEqual(rule('coordination.k8s.io', 'leases', ['get', 'watch', 'create', 'update']))
  })

  it('the chart renders no Role for Leases without leader election', () => {
    const alone = objectsOf({ leaderElection: { enabled: false }, controller: { replicaCount: 1 } })
    expect(ofKind(alone, 'Role')).toEqual([])
  })

  it.each([
    ['auto', true, RESIZER],
    ['auto', false, RESIZER.filter((one) => one !== PODS)],
    ['auto', null, RESIZER],
    [true, false, RESIZER],
    [false, true, RESIZER.filter((one) => one !== PODS)],
  ])(
    'the resizer may read pods depending on rbac.pods %p and handleVolumeInUseError %p',
    (pods, handleVolumeInUseError, expected) => {
      expect(clusterRules('resizer', { rbac: { pods }, resizer: { handleVolumeInUseError } })).toEqual(expected)
    },
  )

  it("the chart's rules allow every Secret only if rbac.secrets is true", () => {
    expect(clusterRules('attacher', { rbac: { secrets: true } })).toEqual([...ATTACHER, SECRETS])
  })

  it("the chart's rules allow only the named Secrets of rbac.secretNames", () => {
    const secretNames = [{ namespace: 'backend', names: ['login', 'key'] }]
    const role = named(objectsOf({ rbac: { secretNames } }), 'Role', 'demo-csi-sidecars-secrets')
    expect(role.metadata.namespace).toBe('backend')
    expect(role.rules).toEqual([{ ...SECRETS, resourceNames: ['login', 'key'] }])
  })

  it('the chart renders one Role for a namespace that rbac.secretNames names twice', () => {
    const secretNames = [
      { namespace: 'backend', names: ['login', 'key'] },
      { namespace: 'other', names: ['login'] },
      { namespace: 'backend', names: ['key', 'token'] },
    ]
    const roles = ofKind(objectsOf({ rbac: { secretNames } }), 'Role').filter(({ metadata }) =>
      metadata.name.endsWith('-secrets'),
    )
    expect(roles.map(({ metadata, rules }) => [metadata.namespace, rules])).toEqual([
      ['backend', [{ ...SECRETS, resourceNames: ['login', 'key', 'token'] }]],
      ['other', [{ ...SECRETS, resourceNames: ['login'] }]],
    ])
  })

  it('the rendered roles contain the additional rules of the user', () => {
    const additionalClusterRoleRules = [rule('', 'nodes', ['get'])]
    expect(clusterRules('resizer', { resizer: { additionalClusterRoleRules } })).toEqual([
      ...RESIZER,
      ...additionalClusterRoleRules,
    ])
  })

  it('the chart renders roles for enabled sidecars only', () => {
    const names = ofKind(objectsOf({ resizer: { enabled: false } }), 'ClusterRole').map(({ metadata }) => metadata.name)
    expect(names).toEqual(['demo-csi-sidecars-external-attacher-role'])
  })

  it('the roles of all sidecars are bound to the account of the shared pod', () => {
    const objects = objectsOf()
    const bindings = [...ofKind(objects, 'ClusterRoleBinding'), ...ofKind(objects, 'RoleBinding')]
    expect(new Set(bindings.flatMap(({ subjects = [] }) => subjects.map(({ name }) => name)))).toEqual(
      new Set(['demo-csi-sidecars']),
    )
  })

  it('with `mode: separate` the roles of each sidecar are bound to its own account', () => {
    const objects = render({ files: [exampleFile('separate')] })
    const boundTo = ofKind(objects, 'ClusterRoleBinding').map(({ roleRef, subjects }) => [
      roleRef?.name,
      subjects?.map(({ name }) => name),
    ])
    expect(boundTo).toEqual([
      ['demo-csi-sidecars-external-attacher-role', ['demo-csi-sidecars-attacher']],
      ['demo-csi-sidecars-external-resizer-role', ['demo-csi-sidecars-resizer']],
    ])
  })

  it('the chart renders no roles if rbac.create is false', () => {
    const kinds = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding']
    expect(objectsOf({ rbac: { create: false } }).filter(({ kind }) => kinds.includes(kind))).toEqual([])
  })
})

import { expect, it } from '@jest/globals'
import { exampleFile, render } from './helm.ts'
import { type Container, type Manifest, ofKind, type PodSpec } from './manifest.ts'
import { restrictedViolations } from './pod-security.ts'
import { merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

type Example = 'driver' | 'separate' | 'hosted-control-plane'

interface Expected {
  readonly workloads: readonly { readonly name: string; readonly selector: string }[]
  readonly leases: readonly { readonly app: string; readonly namespace: string; readonly name: string }[]
  readonly rights: readonly { readonly account: string; readonly attributes: Readonly<Record<string, string>> }[]
}

interface TestPod extends Omit<PodSpec, 'containers'> {
  readonly containers: readonly (Omit<Container, 'env'> & {
    readonly env: readonly { readonly name: string; readonly value: string }[]
  })[]
}

const hooks = (example: Example, values: object = {}): readonly Manifest[] =>
  render({ tests: true, values: merged(readValues(exampleFile(example)), { ...values }) }).filter(
    ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test',
  )

const specOf = (objects: readonly Manifest[]): TestPod => ofKind(objects, 'Pod')[0]?.spec as unknown as TestPod

function expected(objects: readonly Manifest[]): Expected {
  const text = specOf(objects).containers[0]?.env.find(({ name }) => name === 'EXPECTED')?.value
  return JSON.parse(text ?? '') as Expected
}

withHelm('helm test', () => {
  it('helm test runs a pod with our image and an account without permission to change objects', () => {
    const objects = hooks('driver')
    expect(objects.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'Pod']),
    )
    const rules = [...ofKind(objects, 'ClusterRole'), ...ofKind(objects, 'Role')].flatMap(({ rules = [] }) => rules)
    expect(rules.map(({ resources, verbs }) => [resources, verbs])).toEqual([
      [['subjectaccessreviews'], ['create']],
      [['pods'], ['list']],
      [['leases'], ['list']],
    ])
    const pod = specOf(objects)
    expect(pod.containers[0]?.image).toBe('registry.example.com/storage/csi-attacher:v0.1.0')
    expect(restrictedViolations({ ...pod, volumes: [] })).toEqual([])
  })

  it('a release without roles, or with `mode: library`, has no objects for helm test', () => {
    expect(hooks('driver', { rbac: { create: false } })).toEqual([])
    expect(hooks('driver', { mode: 'library' })).toEqual([])
  })

  it('helm test expects the Lease of each sidecar, and each permission that the sidecar needs', () => {
    const { workloads, leases, rights } = expected(hooks('driver', { leaderElection: { namespace: 'leases' } }))
    expect(workloads.map(({ name }) => name)).toEqual(['demo-csi-sidecars-controller'])
    expect(leases.map(({ app, namespace, name }) => [app, namespace, name])).toEqual([
      ['attacher', 'leases', 'external-attacher-leader-example-csi-k8s-io'],
      ['resizer', 'leases', 'external-resizer-example-csi-k8s-io'],
    ])
    const attributes = rights.map((right) => right.attributes)
    expect(attributes).toContainEqual({
      group: 'storage.k8s.io',
      resource: 'volumeattachments',
      subresource: 'status',
      verb: 'patch',
    })
    expect(attributes).toContainEqual({
      group: 'coordination.k8s.io',
      resource: 'leases',
      verb: 'update',
      name: 'external-resizer-example-csi-k8s-io',
      namespace: 'leases',
    })
  })

  it('helm test expects that only the account of the resizer has permissions for claims', () => {
    const { rights } = expected(hooks('separate'))
    const ofClaims = rights.filter((right) => right.attributes['resource'] === 'persistentvolumeclaims')
    expect(new Set(ofClaims.map(({ account }) => account))).toEqual(
      new Set(['system:serviceaccount:storage:demo-csi-sidecars-resizer']),
    )
  })

  it('helm test expects the single Lease of all sidecars in one process', () => {
    const values = { process: 'one', sidecars: { singleLease: 'both' } }
    expect(expected(hooks('driver', values)).leases.map(({ name }) => name)).toEqual(['both', 'both'])
  })

  it('helm test expects neither Leases nor permissions if the sidecars serve another cluster', () => {
    const { leases, rights } = expected(hooks('hosted-control-plane', { rbac: { create: true } }))
    expect([leases, rights]).toEqual([[], []])
  })
})

import { describe, expect, it } from '@jest/globals'
import { granted } from '../../testing/workloads.ts'
import { checkFlags, effectiveFlags } from '../flags/check-flags.ts'
import { KNOWN_SIDECARS, type SidecarName } from '../sidecars.ts'
import { isGranted } from './granted.ts'
import { missingRights } from './missing.ts'
import { neededRights } from './needed.ts'
import { readsAllSecrets, secretsOf, unreadableSecrets } from './secrets.ts'

const needed = (sidecar: SidecarName, line = '') =>
  neededRights(
    sidecar,
    effectiveFlags(checkFlags(KNOWN_SIDECARS[sidecar], line.split(' ').filter(Boolean)).flags, new Map()),
    {
      namespace: 'storage',
    },
  )
const resources = (sidecar: SidecarName, line = ''): readonly string[] =>
  needed(sidecar, line).map(({ resource }) => resource)

describe('the needed rights', () => {
  it.each<[SidecarName, string, string, boolean]>([
    ['provisioner', '', 'nodes', true],
    ['provisioner', '--feature-gates=Topology=false', 'nodes', false],
    ['provisioner', '--feature-gates=Topology=false --enable-capacity', 'nodes', true],
    ['provisioner', '--node-deployment', 'nodes', false],
    ['provisioner', '--node-deployment --finalize-claims', 'nodes', true],
    ['provisioner', '--node-deployment --finalize-claims', 'csinodes', true],
    ['provisioner', '', 'csistoragecapacities', false],
    ['provisioner', '--enable-capacity', 'csistoragecapacities', true],
    ['provisioner', '--enable-capacity', 'replicasets', false],
    ['provisioner', '--enable-capacity --capacity-ownerref-level=2', 'replicasets', true],
    ['provisioner', '--enable-capacity --capacity-ownerref-level=-1', 'pods', false],
    ['provisioner', '--feature-gates=VolumeAttributesClass=false', 'volumeattributesclasses', false],
    ['resizer', '', 'pods', true],
    ['resizer', '--handle-volume-inuse-error=false', 'pods', false],
    ['resizer', '', 'nodes', false],
    ['resizer', '--node-deployment', 'nodes', true],
    ['resizer', '--feature-gates=VolumeAttributesClass=false', 'volumeattributesclasses', false],
    ['snapshotter', '', 'volumegroupsnapshotcontents', true],
    ['snapshotter', '--feature-gates=CSIVolumeGroupSnapshot=false', 'volumegroupsnapshotcontents', false],
    ['attacher', '', 'leases', false],
    ['attacher', '--leader-election', 'leases', true],
    ['livenessprobe', '', 'events', false],
  ])('the %s with "%s" needs %s: %s', (sidecar, line, resource, isNeeded) => {
    expect(resources(sidecar, line).includes(resource)).toBe(isNeeded)
  })

  it('Leases are in the namespace of the flag, or of the pod if the flag names a variable', () => {
    const namespaces = (flag: string) =>
      needed('attacher', `--leader-election ${flag}`).flatMap(({ resource, namespace }) =>
        resource === 'leases' ? [namespace] : [],
      )
    expect(namespaces('--leader-election-namespace=other')).toEqual(['other', 'other'])
    expect(namespaces('--leader-election-namespace=$(NAMESPACE)')).toEqual(['storage', 'storage'])
    expect(namespaces('')).toEqual(['storage', 'storage'])
  })
})

describe('granted access', () => {
  const access = { group: 'apps', resource: 'deployments', verb: 'get', namespace: 'a' }
  it.each([
    [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }, undefined, {}, true],
    [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }, undefined, {}, true],
    [{ apiGroups: [''], resources: ['deployments'], verbs: ['get'] }, undefined, {}, false],
    [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list'] }, undefined, {}, false],
    [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }, 'a', {}, true],
    [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }, 'b', {}, false],
    [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] }, 'a', { namespace: undefined }, false],
    [
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] },
      undefined,
      { resource: 'deployments/status' },
      false,
    ],
    [
      { apiGroups: ['apps'], resources: ['*/status'], verbs: ['get'] },
      undefined,
      { resource: 'deployments/status' },
      true,
    ],
    [{ apiGroups: ['apps'], resources: ['*'], verbs: ['get'] }, undefined, { resource: 'deployments/status' }, true],
    [{ apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['x'], verbs: ['get'] }, undefined, {}, false],
    [
      { apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['x'], verbs: ['get'] },
      undefined,
      { name: 'x' },
      true,
    ],
    [
      { apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['x'], verbs: ['get'] },
      undefined,
      { name: 'y' },
      false,
    ],
  ])('the rule %j in namespace %s allows %j: %s', (rule, namespace, asked, isAllowed) => {
    expect(isGranted([granted(rule, namespace)], { ...access, ...asked })).toBe(isAllowed)
  })
})

describe('missing rights', () => {
  it('a right lists only the missing verbs, once for all sidecars', () => {
    const rules = [granted({ apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch'] })]
    const missing = missingRights([...needed('attacher'), ...needed('resizer')], rules)
    const volumes = missing.filter(({ resource }) => resource === 'persistentvolumes')
    expect(volumes).toEqual([
      { group: '', resource: 'persistentvolumes', verbs: ['patch'], namespace: undefined, onlyFor: undefined },
    ])
  })

  it('a rule that names the Leases of the driver is enough, except for their creation', () => {
    const lease = 'external-attacher-leader-csi-example-com'
    const named = granted(
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [lease], verbs: ['*'] },
      'storage',
    )
    const leases = needed('attacher', '--leader-election').filter(({ resource }) => resource === 'leases')
    expect(missingRights(leases, [named], [lease]).map(({ verbs }) => verbs)).toEqual([['create']])
    expect(missingRights(leases, [named]).map(({ verbs }) => verbs)).toEqual([['get', 'create', 'update'], ['watch']])
  })
})

describe('Secrets', () => {
  const storageClass = (name: string, parameters: Record<string, string>) => ({
    metadata: { name },
    provisioner: 'csi.example.com',
    parameters,
  })
  const key = (use: string, name: string, namespace = 'storage') => ({
    [`csi.storage.k8s.io/${use}secret-name`]: name,
    [`csi.storage.k8s.io/${use}secret-namespace`]: namespace,
  })
  const snapshotClass = {
    metadata: { name: 's' },
    driver: 'csi.example.com',
    deletionPolicy: 'Delete',
    parameters: key('snapshotter-', 'snap'),
  } as const
  const secrets = (sidecars: readonly SidecarName[], parameters: Record<string, string>) =>
    secretsOf(
      sidecars,
      { storageClasses: [storageClass('c', parameters)], snapshotClasses: [snapshotClass] },
      'csi.example.com',
    )

  it.each<[readonly SidecarName[], Record<string, string>, Record<string, readonly string[]>]>([
    [['attacher'], { ...key('controller-publish-', 'pub'), ...key('provisioner-', 'prov') }, { storage: ['pub'] }],
    [
      ['provisioner'],
      { ...key('controller-publish-', 'pub'), ...key('provisioner-', 'prov', 'other') },
      { other: ['prov'] },
    ],
    [['provisioner', 'resizer'], key('', 'one'), { storage: ['one'] }],
    [
      ['provisioner'],
      { csiProvisionerSecretName: 'old', csiProvisionerSecretNamespace: 'storage' },
      { storage: ['old'] },
    ],
    [['resizer'], key('node-stage-', 'node'), {}],
    [['snapshotter'], {}, { storage: ['snap'] }],
    [['livenessprobe'], key('', 'one'), {}],
  ])('the classes of the driver name for %j with %j the Secrets %j', (sidecars, parameters, expected) => {
    expect(Object.fromEntries(secrets(sidecars, parameters).byNamespace)).toEqual(expected)
  })

  it('a class of another driver names no Secret, and a name with a token cannot be in a rule', () => {
    const classes = {
      storageClasses: [{ ...storageClass('x', key('provisioner-', 'x')), provisioner: 'other' }],
      snapshotClasses: [],
    }
    expect(secretsOf(['provisioner'], classes, 'csi.example.com').byNamespace.size).toBe(0)
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the token of a StorageClass
    const found = secrets(['provisioner'], key('provisioner-', '${pvc.name}'))
    expect([found.byNamespace.size, found.templated]).toEqual([0, ['StorageClass c']])
  })

  it('a Secret is readable if a rule names it, or allows all', () => {
    const found = secrets(['attacher', 'snapshotter'], key('controller-publish-', 'pub'))
    const one = { apiGroups: [''], resources: ['secrets'], resourceNames: ['pub'], verbs: ['get'] }
    expect([...unreadableSecrets(found, [granted(one, 'storage')])]).toEqual([['storage', ['snap']]])
    const all = [granted({ apiGroups: [''], resources: ['secrets'], verbs: ['get'] })]
    expect([unreadableSecrets(found, all).size, readsAllSecrets(all)]).toEqual([0, true])
    expect(readsAllSecrets([granted(one)])).toBe(false)
  })
})

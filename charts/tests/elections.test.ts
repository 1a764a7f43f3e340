import { sidecars } from '@csi-sidecars/sidecars'
import { describe, expect, it } from '@jest/globals'
import { exampleFile, render, tryRender } from './helm.ts'
import { type Manifest, ofKind, sidecar } from './manifest.ts'
import { merged, readValues, type Values } from './values.ts'
import { withHelm } from './with-helm.ts'

const DRIVER = readValues(exampleFile('driver'))
const SEPARATE = readValues(exampleFile('separate'))
const objectsOf = (values: object, base: Values = DRIVER): readonly Manifest[] =>
  render({ values: merged(base, { ...values }) })
const electionArgs = (objects: readonly Manifest[], app: 'attacher' | 'resizer' | 'sidecars'): readonly string[] =>
  (sidecar(objects, app).args ?? []).filter((argument) => argument.includes('leader-election'))
const failure = (values: object): string => {
  const rendered = tryRender({ values: merged(DRIVER, { ...values }) })
  return rendered.kind === 'failed' ? rendered.error : 'rendered'
}

const SHARED = { leaseDuration: '30s', renewDeadline: '20s', namespace: 'leases' }
const OVERRIDES = { leaseDuration: '1m', retryPeriod: '7s', labels: { tier: '1' } }

withHelm('sidecar elections', () => {
  it('a leader election value of one sidecar replaces the common value', () => {
    const objects = objectsOf({ leaderElection: SHARED, attacher: { leaderElection: OVERRIDES } })
    expect(electionArgs(objects, 'attacher')).toEqual([
      '--leader-election=true',
      '--leader-election-labels=tier:1',
      '--leader-election-lease-duration=1m',
      '--leader-election-namespace=leases',
      '--leader-election-renew-deadline=20s',
      '--leader-election-retry-period=7s',
    ])
    expect(electionArgs(objects, 'resizer')).toEqual([
      '--leader-election=true',
      '--leader-election-lease-duration=30s',
      '--leader-election-namespace=leases',
      '--leader-election-renew-deadline=20s',
    ])
  })

  it('leader election can be disabled or enabled for one sidecar, whatever the common value is', () => {
    const one = { controller: { replicaCount: 1 } }
    const off = objectsOf({ ...one, attacher: { leaderElection: { enabled: false } } })
    expect([electionArgs(off, 'attacher').length, electionArgs(off, 'resizer').length]).toEqual([0, 1])
    const on = objectsOf({ ...one, leaderElection: { enabled: false }, resizer: { leaderElection: { enabled: true } } })
    expect([electionArgs(on, 'attacher').length, electionArgs(on, 'resizer').length]).toEqual([0, 1])
  })

  it('the chart grants permissions for Leases only in the namespace of the Lease of each sidecar', () => {
    const roles = (objects: readonly Manifest[]): unknown =>
      ofKind(objects, 'RoleBinding').map(({ metadata, subjects = [] }) => [
        metadata.namespace,
        subjects.map(({ name }) => name),
      ])
    const values = { attacher: { leaderElection: { namespace: 'a' } }, resizer: { leaderElection: { namespace: 'r' } } }
    expect(roles(objectsOf(values))).toEqual([
      ['a', ['demo-csi-sidecars']],
      ['r', ['demo-csi-sidecars']],
    ])
    expect(roles(objectsOf(values, SEPARATE))).toEqual([
      ['a', ['demo-csi-sidecars-attacher']],
      ['r', ['demo-csi-sidecars-resizer']],
    ])
    const off = { ...values, resizer: { leaderElection: { enabled: false } }, controller: { replicaCount: 1 } }
    expect(roles(objectsOf(off))).toEqual([['a', ['demo-csi-sidecars']]])
  })

  describe('combined process', () => {
    const values = { process: 'one', leaderElection: SHARED, attacher: { leaderElection: OVERRIDES } }
    const objects = objectsOf(values)

    it('the combined process gets common election flags without a prefix, and flags of one sidecar with its prefix', () => {
      expect(electionArgs(objects, 'sidecars')).toEqual([
        '--leader-election=true',
        '--leader-election-lease-duration=30s',
        '--leader-election-namespace=leases',
        '--leader-election-renew-deadline=20s',
        '--attacher-leader-election-labels=tier:1',
        '--attacher-leader-election-lease-duration=1m',
        '--attacher-leader-election-retry-period=7s',
      ])
      const args = sidecar(objects, 'sidecars').args ?? []
      expect(sidecars.parse({ argv0: 'csi-sidecars', args })).toMatchObject({ kind: 'start' })
    })

    it('the combined process gets common election flags if leader election is enabled for one sidecar only', () => {
      const one = objectsOf({
        process: 'one',
        leaderElection: { enabled: false, namespace: 'leases', leaseDuration: '1m' },
        attacher: { leaderElection: { enabled: true } },
        controller: { replicaCount: 1 },
      })
      expect(electionArgs(one, 'sidecars')).toEqual([
        '--leader-election=false',
        '--leader-election-lease-duration=1m',
        '--leader-election-namespace=leases',
        '--attacher-leader-election=true',
      ])
      const args = sidecar(one, 'sidecars').args ?? []
      expect(sidecars.parse({ argv0: 'csi-sidecars', args })).toMatchObject({ kind: 'start' })
    })

    it('the chart refuses election values of one sidecar if all sidecars share one Lease', () => {
      expect(failure({ ...values, sidecars: { singleLease: 'both' } })).toContain(
        'attacher.leaderElection must be empty',
      )
    })
  })

  it.each([
    [
      { attacher: { leaderElection: { enabled: false } } },
      'replicaCount is more than 1 without attacher.leaderElection.enabled',
    ],
    [
      { controller: { kind: 'DaemonSet', replicaCount: 1 }, leaderElection: { enabled: false } },
      'controller.kind is DaemonSet without leaderElection.enabled',
    ],
    [
      { resizer: { leaderElection: { leaseDuration: '9s' } } },
      'resizer.leaderElection.leaseDuration (default 15s) must be longer',
    ],
    [
      { resizer: { leaderElection: { retryPeriod: '9s' } } },
      'resizer.leaderElection.renewDeadline (default 10s) must be longer',
    ],
  ])('the chart refuses values with which leader election cannot work: %j', (values, sentence) => {
    expect(failure(values)).toContain(sentence)
  })

  it('leader election can be enabled for each sidecar while the common value is disabled', () => {
    const on = { leaderElection: { enabled: true } }
    expect(failure({ leaderElection: { enabled: false }, attacher: on, resizer: on })).toBe('rendered')
  })
})

withHelm('lease FlowSchema', () => {
  it('the FlowSchema is not rendered by default', () => {
    expect(ofKind(objectsOf({}), 'FlowSchema')).toEqual([])
  })

  it("the FlowSchema matches the requests of each sidecar's account in the namespace of its Lease", () => {
    const values = { flowSchema: { enabled: true }, attacher: { leaderElection: { namespace: 'a' } } }
    const [schema] = ofKind(objectsOf(values, SEPARATE), 'FlowSchema')
    expect(schema?.apiVersion).toBe('flowcontrol.apiserver.k8s.io/v1')
    const rule = (name: string, namespace: string): object => ({
      subjects: [{ kind: 'ServiceAccount', serviceAccount: { name, namespace: 'storage' } }],
      resourceRules: [
        {
          apiGroups: ['coordination.k8s.io'],
          resources: ['leases'],
          verbs: ['get', 'watch', 'create', 'update'],
          namespaces: [namespace],
        },
      ],
    })
    expect(schema?.spec).toEqual({
      priorityLevelConfiguration: { name: 'leader-election' },
      matchingPrecedence: 300,
      distinguisherMethod: { type: 'ByUser' },
      rules: [rule('demo-csi-sidecars-attacher', 'a'), rule('demo-csi-sidecars-resizer', 'storage')],
    })
  })

  it('the FlowSchema is not rendered without leader election', () => {
    const values = {
      flowSchema: { enabled: true },
      leaderElection: { enabled: false },
      controller: { replicaCount: 1 },
    }
    expect(ofKind(objectsOf(values), 'FlowSchema')).toEqual([])
  })
})

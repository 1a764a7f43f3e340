import { apiErrorOf } from '@csi-sidecars/kube-client'
import type { Container } from '@csi-sidecars/kube-types'
import { DEPLOYMENTS } from '@csi-sidecars/kube-types'
import { applyPatch } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { DRIVER_CONTAINER, deployment, facts, granted, IMAGES, sidecar, workload } from '../testing/workloads.ts'
import type { PlanFinding } from './finding.ts'
import { sentenceOf } from './output/sentences.ts'
import type { JsonPatch } from './patches/json-patch.ts'
import { type PlanFacts, planOf } from './plan.ts'

const ATTACHER = sidecar('csi-attacher:v4.13.0', '--leader-election')
const RESIZER = sidecar('csi-resizer:v2.3.0', '--leader-election')
const PROVISIONER = sidecar('csi-provisioner:v6.4.0', '--leader-election')
const PROBE = sidecar('livenessprobe:v2.20.0', '--probe-timeout=3s')

const plan = (containers: readonly Container[], fields: Partial<PlanFacts> = {}) =>
  planOf(facts(containers, fields), IMAGES)
const ofKind = <K extends PlanFinding['kind']>(findings: readonly PlanFinding[], kind: K) =>
  findings.filter((finding): finding is PlanFinding & { readonly kind: K } => finding.kind === kind)

/** Returns the containers after a patch. */
function patched(containers: readonly Container[], patch: JsonPatch): readonly Container[] {
  const body = { kind: 'json', body: patch } as const
  const object = applyPatch(deployment(containers), body, { resource: DEPLOYMENTS, errorOf: apiErrorOf })
  return object.spec?.template.spec?.containers ?? []
}

describe('the containers of a plan', () => {
  it.each<[string, Container, PlanFinding['kind']]>([
    ['an unknown image', sidecar('example.com/tools:v1', '', { name: 'csi-attacher' }), 'unknownImage'],
    ['a fork', sidecar('longhornio/csi-attacher:v3.2.1-lh1', ''), 'fork'],
    ['a shell', sidecar('csi-attacher:v4.13.0', '', { command: ['/bin/sh', '-c'] }), 'otherStarter'],
    ['the snapshot-controller', sidecar('snapshot-controller:v8.2.0', ''), 'remainsGo'],
    ['our own image', sidecar('ghcr.io/csi-sidecars/csi-attacher:v0.1.0', ''), 'alreadyOurs'],
  ])('%s gets one line, and the rest of the pod still has a plan', (_, container, kind) => {
    const { findings, toImages, containers } = plan([DRIVER_CONTAINER, container, { ...RESIZER, name: 'other' }])
    const lines = findings.filter((finding) => 'container' in finding && finding.container === container.name)
    expect(lines.map((finding) => finding.kind)).toEqual([kind])
    expect(containers.map(({ swappedTo }) => swappedTo)).toEqual([
      undefined,
      undefined,
      'ghcr.io/csi-sidecars/csi-resizer:v0.1.0',
    ])
    expect(toImages?.forward.map(({ path }) => path)).toEqual(
      ['name', 'image', 'image'].map((field) => `/spec/template/spec/containers/2/${field}`),
    )
  })

  it('a pod without sidecars has a plan without patches', () => {
    const { findings, toImages, toOneProcess } = plan([DRIVER_CONTAINER])
    expect([findings, toImages, toOneProcess]).toEqual([[], undefined, undefined])
  })

  it('an image without a version lists all changes, and its command line gets no argument', () => {
    const { findings, containers } = plan([sidecar('csi-provisioner:canary', '')])
    expect(ofKind(findings, 'unknownVersion')).toHaveLength(1)
    expect(ofKind(findings, 'change').length).toBeGreaterThan(10)
    expect(ofKind(findings, 'change').filter(({ isKept }) => isKept)).toEqual([])
    expect(containers[0]?.added).toEqual([])
  })

  it('a version before the examined ones is named', () => {
    expect(ofKind(plan([sidecar('csi-provisioner:v1.6.1', '')]).findings, 'notExamined')).toMatchObject([
      { version: '1.6.1', oldest: '2.0.0' },
    ])
  })

  it('the current version of a Go sidecar has no change', () => {
    expect(ofKind(plan([ATTACHER, RESIZER, PROVISIONER]).findings, 'change')).toEqual([])
  })
})

describe('changes since the version of the Go sidecar', () => {
  const topology = (line: string) =>
    ofKind(plan([sidecar('csi-provisioner:v4.0.1', line)]).findings, 'change').find(
      ({ change }) => change.id === 'provisioner-topology',
    )

  it('the patches keep Topology off for a provisioner before version 5', () => {
    expect(topology('')).toMatchObject({ isKept: true, untested: [{ kind: 'capability' }] })
    const made = plan([sidecar('csi-provisioner:v4.0.1', '--v=5')])
    const [container] = patched([sidecar('csi-provisioner:v4.0.1', '--v=5')], made.toImages?.forward ?? [])
    expect(container?.args).toContain('--feature-gates=Topology=false,VolumeAttributesClass=false')
  })

  it('a command line that sets the gate is not concerned', () => {
    expect(topology('--feature-gates=Topology=true')).toBeUndefined()
  })

  it('the version of Kubernetes and the name of the driver decide conditions', () => {
    const ids = (fields: Partial<PlanFacts>) =>
      ofKind(
        plan([sidecar('csi-provisioner:v2.0.0', '--feature-gates=VolumeAttributesClass=true')], fields).findings,
        'change',
      ).map(({ change }) => change.id)
    expect(ids({ kubernetes: '1.33' })).toContain('provisioner-attributes-class-api')
    expect(ids({ kubernetes: '1.34' })).not.toContain('provisioner-attributes-class-api')
    expect(ids({ driverName: 'ebs.csi.aws.com' })).toContain('provisioner-migrated-label')
    expect(ids({ driverName: 'csi.example.com' })).not.toContain('provisioner-migrated-label')
  })
})

describe('flags', () => {
  it('a refused flag is removed by the patch, and comes back with the patch back', () => {
    const containers = [sidecar('csi-attacher:v4.13.0', '--logtostderr --timeout=1m')]
    const { toImages, findings } = plan(containers)
    expect(ofKind(findings, 'refusedFlag')).toMatchObject([{ argument: '--logtostderr' }])
    const after = patched(containers, toImages?.forward ?? [])
    expect(after[0]?.args).toEqual(['--csi-address=/csi/csi.sock', '--timeout=1m'])
  })

  it('the program of a vendor that our image does not have is removed with its arguments kept', () => {
    const containers = [
      sidecar('csi-attacher:v4.13.0', '--timeout=1m', { command: ['/usr/local/bin/csi-attacher', '--v=2'] }),
    ]
    const [container] = patched(containers, plan(containers).toImages?.forward ?? [])
    expect(container).not.toHaveProperty('command')
    expect(container?.args).toEqual(['--v=2', '--csi-address=/csi/csi.sock', '--timeout=1m'])
    const same = [sidecar('csi-attacher:v4.13.0', '', { command: ['/csi-attacher'] })]
    expect(patched(same, plan(same).toImages?.forward ?? [])[0]?.command).toEqual(['/csi-attacher'])
  })

  it('GODEBUG for the cryptographic module of Go gets one line', () => {
    const env = [{ name: 'GODEBUG', value: 'fips140=on' }]
    expect(ofKind(plan([{ ...ATTACHER, env }]).findings, 'fipsVariable')).toHaveLength(1)
  })
})

describe('the pod', () => {
  const privileged = { securityContext: { privileged: true } }
  it.each<[string, Partial<Container>, Partial<Container>, object, number]>([
    ['only the driver is privileged', privileged, {}, {}, 1],
    ['both are privileged', privileged, privileged, {}, 0],
    ['no container is privileged', {}, {}, {}, 0],
    ['the pod has the type spc_t', privileged, {}, { securityContext: { seLinuxOptions: { type: 'spc_t' } } }, 0],
  ])('SELinux is a finding if %s', (_, driver, sidecarFields, pod, count) => {
    const containers = [
      { ...DRIVER_CONTAINER, ...driver },
      { ...ATTACHER, ...sidecarFields },
    ]
    const { findings } = plan(containers, { workload: workload(containers, pod) })
    expect(ofKind(findings, 'seLinux')).toHaveLength(count)
  })

  it.each<[string, number | undefined, number | undefined, number]>([
    ['another user than root', 65532, undefined, 1],
    ['the same user', 1000, 1000, 0],
    ['root', 0, 1000, 0],
    ['the user of its image', undefined, 0, 0],
  ])('the owner of the socket is a finding if the sidecar runs as %s', (_, user, driverUser, count) => {
    const as = (runAsUser: number | undefined) => (runAsUser === undefined ? {} : { securityContext: { runAsUser } })
    const { findings } = plan([
      { ...DRIVER_CONTAINER, ...as(driverUser) },
      { ...ATTACHER, ...as(user) },
    ])
    expect(ofKind(findings, 'socketOwner')).toHaveLength(count)
  })

  it('a pod that refuses root gets the image for another user', () => {
    const containers = [ATTACHER, RESIZER]
    const made = plan(containers, { workload: workload(containers, { securityContext: { runAsNonRoot: true } }) })
    expect(made.containers[0]?.swappedTo).toBe('ghcr.io/csi-sidecars/csi-attacher:v0.1.0-nonroot')
    expect(patched(containers, made.toOneProcess?.forward ?? [])[0]?.image).toMatch(/csi-sidecars:v0\.1\.0-nonroot$/)
  })

  it('limits that are too low are raised by the patch', () => {
    const resources = { requests: { cpu: '5m' }, limits: { memory: '32Mi', cpu: '50m' } }
    const containers = [{ ...ATTACHER, resources }]
    const { findings, toImages } = plan(containers)
    expect(ofKind(findings, 'lowLimit').map(({ resource, limit }) => [resource, limit])).toEqual([
      ['memory', '32Mi'],
      ['cpu', '50m'],
    ])
    expect(patched(containers, toImages?.forward ?? [])[0]?.resources).toEqual({
      requests: { cpu: '5m' },
      limits: { memory: '256Mi', cpu: '100m' },
    })
    expect(
      ofKind(plan([{ ...ATTACHER, resources: { limits: { memory: '80Mi', cpu: '1' } } }]).findings, 'lowLimit'),
    ).toEqual([])
  })

  it('an object that an operator owns gets one line', () => {
    const owned = { ...workload([ATTACHER]), owner: 'CephCluster rook-ceph' }
    expect(ofKind(plan([ATTACHER], { workload: owned }).findings, 'writtenByOperator')).toEqual([
      { kind: 'writtenByOperator', owner: 'CephCluster rook-ceph' },
    ])
  })
})

describe('rights', () => {
  it('a missing right is a finding for the sidecars of the pod only', () => {
    const rule = granted({ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] })
    const { findings } = plan([sidecar('csi-attacher:v4.13.0', '')], { granted: [rule] })
    expect(ofKind(findings, 'missingRight').map(({ right }) => [right.resource, right.verbs])).toEqual([
      ['persistentvolumes', ['patch']],
      ['volumeattachments', ['patch']],
      ['volumeattachments/status', ['patch']],
      ['events', ['create', 'patch']],
    ])
  })

  it('roles that cannot be read are one line', () => {
    const { findings } = plan([ATTACHER], { granted: { why: 'forbidden' } })
    expect(findings.map(sentenceOf)).toContain('The rights are not examined: forbidden.')
  })

  it('the Secrets of the classes are named, or the missing name of the driver is', () => {
    const storageClasses = [
      {
        metadata: { name: 'fast' },
        provisioner: 'csi.example.com',
        parameters: {
          'csi.storage.k8s.io/provisioner-secret-name': 'key',
          'csi.storage.k8s.io/provisioner-secret-namespace': 'storage',
        },
      },
    ]
    const none = [granted({ apiGroups: ['storage.k8s.io'], resources: ['*'], verbs: ['*'] })]
    const secrets = ofKind(plan([PROVISIONER], { storageClasses, granted: none }).findings, 'missingSecrets')
    expect(secrets).toEqual([{ kind: 'missingSecrets', namespace: 'storage', names: ['key'] }])
    expect(
      ofKind(plan([PROVISIONER], { driverName: undefined, granted: none }).findings, 'unknownDriver'),
    ).toHaveLength(1)
    expect(ofKind(plan([PROVISIONER], { storageClasses }).findings, 'allSecrets')).toEqual([
      { kind: 'allSecrets', byNamespace: { storage: ['key'] } },
    ])
  })
})

describe('one process', () => {
  const combined = (containers: readonly Container[]) => {
    const { toOneProcess, findings } = plan(containers)
    return { after: patched(containers, toOneProcess?.forward ?? []), findings, toOneProcess }
  }

  it('the container takes the place of the first one, and the driver and the registrar stay', () => {
    const registrar = sidecar('csi-node-driver-registrar:v2.15.0', '')
    const { after } = combined([ATTACHER, DRIVER_CONTAINER, RESIZER, registrar, PROBE])
    expect(after.map(({ name }) => name)).toEqual(['csi-sidecars', 'driver', 'csi-node-driver-registrar'])
    expect(after[0]?.args).toEqual([
      '--controllers=attacher,resizer,livenessprobe',
      '--csi-address=/csi/csi.sock',
      '--leader-election=true',
      '--livenessprobe-probe-timeout=3s',
    ])
  })

  it('a value that differs gets the prefix of its sidecar, and limits of the API server are added up', () => {
    const { after, findings } = combined([
      sidecar(
        'csi-attacher:v4.13.0',
        '--leader-election --retry-interval-max=1m --kube-api-qps=20 --v=2 --http-endpoint=:1',
      ),
      sidecar('csi-resizer:v2.3.0', '--leader-election --retry-interval-max=2m --v=5 --http-endpoint=:2'),
    ])
    expect(after[0]?.args).toEqual([
      '--controllers=attacher,resizer',
      '--csi-address=/csi/csi.sock',
      '--http-endpoint=:1',
      '--kube-api-qps=25',
      '--leader-election=true',
      '--attacher-retry-interval-max=1m',
      '--resizer-retry-interval-max=2m',
      '--v=5',
    ])
    expect(ofKind(findings, 'mergedSetting').map(({ note }) => note)).toEqual([
      '--http-endpoint is :1 for all, of :1 and :2',
      '--kube-api-qps is 25, the sum of 20, 5',
      '--v is 5 for all, of 2 and 5',
      expect.stringContaining('container csi-resizer has no endpoint any longer'),
    ])
  })

  it('variables of the same name with different values are replaced in the flags', () => {
    const env = (value: string) => [{ name: 'WAIT', value }]
    const { after } = combined([
      sidecar('csi-attacher:v4.13.0', '--timeout=$(WAIT)', { env: env('1m') }),
      sidecar('csi-resizer:v2.3.0', '--timeout=$(WAIT)', { env: env('2m') }),
    ])
    expect(after[0]?.args).toEqual(expect.arrayContaining(['--attacher-timeout=1m', '--resizer-timeout=2m']))
    expect(after[0]).not.toHaveProperty('env')
  })

  it('the socket is found by its volume, although the containers mount it at different paths', () => {
    const probe = sidecar('livenessprobe:v2.20.0', '--csi-address=/other/csi.sock', {
      volumeMounts: [{ name: 'socket-dir', mountPath: '/other/' }],
    })
    const { after } = combined([ATTACHER, probe])
    expect(after[0]?.volumeMounts).toEqual([{ name: 'socket-dir', mountPath: '/csi' }])
  })

  it('a pod with two drivers gets one process for each of them', () => {
    const other = (container: Container): Container => ({
      ...container,
      name: `other-${container.name}`,
      volumeMounts: [{ name: 'other-dir', mountPath: '/csi' }],
    })
    const containers = [ATTACHER, other(ATTACHER), RESIZER, other(PROVISIONER)]
    const { after, toOneProcess } = combined(containers)
    expect(after.map(({ name, args }) => [name, args?.[0]])).toEqual([
      ['csi-sidecars', '--controllers=attacher,resizer'],
      ['csi-sidecars-2', '--controllers=attacher,provisioner'],
    ])
    expect(patched(after, toOneProcess?.back ?? [])).toEqual(containers)
  })

  it.each<[string, readonly Container[], RegExp]>([
    ['a single sidecar', [ATTACHER], /only one sidecar uses this socket/],
    ['a sidecar twice', [ATTACHER, { ...ATTACHER, name: 'again' }], /a sidecar twice for the same socket/],
    [
      'different clusters',
      [sidecar('csi-attacher:v4.13.0', '--kubeconfig=/a'), sidecar('csi-resizer:v2.3.0', '--kubeconfig=/b')],
      /different values of --kubeconfig: \/a, \/b/,
    ],
    [
      'different variables',
      [
        { ...ATTACHER, env: [{ name: 'HTTPS_PROXY', value: 'a' }] },
        { ...RESIZER, env: [{ name: 'HTTPS_PROXY', value: 'b' }] },
      ],
      /different values of the variable HTTPS_PROXY/,
    ],
    [
      'different volumes at one path',
      [
        { ...ATTACHER, volumeMounts: [...(ATTACHER.volumeMounts ?? []), { name: 'a', mountPath: '/etc/x' }] },
        { ...RESIZER, volumeMounts: [...(RESIZER.volumeMounts ?? []), { name: 'b', mountPath: '/etc/x' }] },
      ],
      /different volumes at \/etc\/x/,
    ],
    [
      'sidecars for a node and for the cluster',
      [ATTACHER, sidecar('csi-resizer:v2.3.0', '--node-deployment')],
      /resizer run for each node, and attacher for the cluster/,
    ],
  ])('%s cannot be one process, and one line says why', (_, containers, why) => {
    const { toOneProcess, findings } = plan(containers)
    expect(toOneProcess).toBeUndefined()
    expect(ofKind(findings, 'notOneProcess').map((finding) => finding.why)).toEqual([expect.stringMatching(why)])
  })
})

describe('patches', () => {
  const live = (containers: readonly Container[]) => ({
    ...workload(containers),
    version: { uid: 'uid-1', generation: 7 },
  })

  it('a patch of a live object tests its UID and generation, and the patch back only its UID', () => {
    const containers = [ATTACHER, RESIZER]
    const { toImages, toOneProcess } = plan([ATTACHER], { workload: live(containers) })
    const tests = [
      { op: 'test', path: '/metadata/uid', value: 'uid-1' },
      { op: 'test', path: '/metadata/generation', value: 7 },
    ]
    for (const pair of [toImages, toOneProcess]) {
      expect(pair?.forward.slice(0, 2)).toEqual(tests)
      expect(pair?.back[0]).toEqual(tests[0])
      expect(pair?.back[1]?.path).not.toBe('/metadata/generation')
    }
  })

  it('a patch of a manifest fails if the command line of a container has changed', () => {
    const { toOneProcess } = plan([ATTACHER, RESIZER])
    const changed = [ATTACHER, sidecar('csi-resizer:v2.3.0', '--leader-election --timeout=1m')]
    expect(() => patched(changed, toOneProcess?.forward ?? [])).toThrow()
  })

  it.each([
    ['images', 'toImages'],
    ['one process', 'toOneProcess'],
  ] as const)('the patch back from %s fails if the container has another image by then', (_, key) => {
    const containers = [ATTACHER, RESIZER]
    const pair = plan(containers)[key]
    const after = patched(containers, pair?.forward ?? [])
    const upgraded = after.map((container) => ({ ...container, image: `${container.image}-2` }))
    expect(patched(after, pair?.back ?? [])).toEqual(containers)
    expect(() => patched(upgraded, pair?.back ?? [])).toThrow()
  })

  it('a sidecar in `initContainers` is swapped in its place', () => {
    const native: Container = { ...ATTACHER, restartPolicy: 'Always' }
    const containers = [DRIVER_CONTAINER]
    const made = plan([ATTACHER], {
      workload: workload(containers, { initContainers: [{ name: 'once', image: 'a' }, native] }),
    })
    expect(made.toImages?.forward.map(({ path }) => path)).toContain('/spec/template/spec/initContainers/1/image')
  })
})

import { APPS } from '@csi-sidecars/sidecars'
import { expect, it } from '@jest/globals'
import { exampleFile, render, tryRender } from './helm.ts'
import { type Manifest, named, ofKind, podSpecs, sidecar } from './manifest.ts'
import { merged, ON_OWN_NODES, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

withHelm('controller values', () => {
  const driver = readValues(exampleFile('driver'))
  const objectsOf = (values: object): readonly Manifest[] => render({ values: merged(driver, { ...values }) })
  const controllerOf = (kind: string, values: object): Manifest =>
    named(objectsOf({ controller: { kind, ...values } }), kind, 'demo-csi-sidecars-controller')
  const failure = (values: object): string => {
    const rendered = tryRender({ values: merged(driver, { ...values }) })
    return rendered.kind === 'failed' ? rendered.error : 'rendered'
  }

  it("a field of controller.podSpec replaces the chart's own field of the pod", () => {
    const podSpec = {
      dnsPolicy: 'Default',
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['backend'] }],
      hostIPC: true,
      runtimeClassName: 'gvisor',
      schedulerName: 'storage',
      priorityClassName: '',
      terminationGracePeriodSeconds: 1000000,
      topologySpreadConstraints: [],
    }
    const plain = podSpecs(objectsOf({ controller: { hostNetwork: true } }))[0]
    expect(plain).toMatchObject({ dnsPolicy: 'ClusterFirstWithHostNet', terminationGracePeriodSeconds: 90 })
    const changed = podSpecs(objectsOf({ controller: { hostNetwork: true, podSpec } }))[0]
    expect(changed).toEqual({ ...plain, ...podSpec })
  })

  it.each([
    ['containers', 'driver.containers'],
    ['initContainers', 'driver.initContainers'],
    ['volumes', 'driver.volumes'],
    ['serviceAccountName', 'serviceAccount.name'],
  ])('the chart refuses controller.podSpec.%s, because another value sets this field', (field, key) => {
    expect(failure({ controller: { podSpec: { [field]: [] } } })).toContain(`controller.podSpec.${field}`)
    expect(failure({ controller: { podSpec: { [field]: [] } } })).toContain(`use ${key}.`)
  })

  it.each(['Deployment', 'StatefulSet', 'DaemonSet'])(
    'controller.labels and controller.annotations are set on the %s, and not on its pods',
    (kind) => {
      const { metadata, spec } = controllerOf(kind, { labels: { tier: '2' }, annotations: { reload: 'yes' } })
      expect([metadata.labels?.['tier'], metadata.annotations]).toEqual(['2', { reload: 'yes' }])
      expect(spec?.template?.metadata.labels).not.toHaveProperty('tier')
      expect(spec?.template?.metadata).not.toHaveProperty('annotations')
    },
  )

  it.each(['Deployment', 'StatefulSet', 'DaemonSet'])(
    'the chart sets revisionHistoryLimit and minReadySeconds of a %s only if their values are set',
    (kind) => {
      const plain = controllerOf(kind, {}).spec
      expect([plain?.['revisionHistoryLimit'], plain?.['minReadySeconds']]).toEqual([undefined, undefined])
      const { spec } = controllerOf(kind, { revisionHistoryLimit: 0, minReadySeconds: 7 })
      expect([spec?.['revisionHistoryLimit'], spec?.['minReadySeconds']]).toEqual([0, 7])
    },
  )

  it('a DaemonSet is rendered without replicas and disruption budget, and its sidecars elect a leader', () => {
    const objects = objectsOf({ controller: { kind: 'DaemonSet', updateStrategy: { type: 'OnDelete' } } })
    const { spec } = named(objects, 'DaemonSet', 'demo-csi-sidecars-controller')
    expect(spec).not.toHaveProperty('replicas')
    expect(spec).not.toHaveProperty('strategy')
    expect(spec?.['updateStrategy']).toEqual({ type: 'OnDelete' })
    expect(ofKind(objects, 'Deployment')).toEqual([])
    expect(ofKind(objects, 'PodDisruptionBudget')).toEqual([])
    expect(sidecar(objects, 'attacher').args).toContain('--leader-election=true')
  })

  it('the update strategy is in `strategy` of a Deployment and in `updateStrategy` of a StatefulSet', () => {
    expect(controllerOf('Deployment', {}).spec?.['strategy']).toEqual({ rollingUpdate: { maxUnavailable: 1 } })
    expect(controllerOf('StatefulSet', {}).spec?.['updateStrategy']).toEqual({ rollingUpdate: { maxUnavailable: 1 } })
    expect(controllerOf('StatefulSet', {}).spec).toMatchObject({ podManagementPolicy: 'Parallel', replicas: 2 })
  })

  const HOST_SOCKET = { volume: { hostPath: { path: '/var/lib/kubelet/plugins/example.csi.k8s.io' } } }
  it.each<[name: string, values: object, strategy: object]>([
    ['of two pods, one stays ready', {}, { rollingUpdate: { maxUnavailable: 1 } }],
    [
      'a single pod stays until the new one is ready',
      { controller: { replicaCount: 1 } },
      { rollingUpdate: { maxUnavailable: 0 } },
    ],
    [
      'a single pod with a socket in a hostPath ends before the new one starts',
      { controller: { replicaCount: 1 }, socketDir: HOST_SOCKET },
      { type: 'Recreate' },
    ],
    [
      'a single pod with the ports of its node ends before the new one starts',
      { controller: { replicaCount: 1, hostNetwork: true } },
      { type: 'Recreate' },
    ],
    [
      'a single pod that excludes others from its node ends before the new one starts',
      { controller: { replicaCount: 1, affinity: ON_OWN_NODES } },
      { type: 'Recreate' },
    ],
    [
      'of two pods on different nodes, one stays ready',
      { controller: { affinity: ON_OWN_NODES }, socketDir: HOST_SOCKET },
      { rollingUpdate: { maxUnavailable: 1 } },
    ],
  ])('by default, at an update of the Deployment %s', (_what, values, strategy) => {
    const deployment = named(objectsOf(values), 'Deployment', 'demo-csi-sidecars-controller')
    expect(deployment.spec?.['strategy']).toEqual(strategy)
  })

  it.each(APPS)('the container of the %s has the probes of its values, and no startup probe by default', (app) => {
    const probes = {
      startupProbe: { enabled: true, path: '/readyz' },
      livenessProbe: { path: '/healthz/leader-election' },
      readinessProbe: { path: '/livez', successThreshold: 1 },
    }
    const before = sidecar(objectsOf({}), app)
    expect(before.startupProbe).toBeUndefined()
    const { startupProbe, livenessProbe, readinessProbe } = sidecar(objectsOf({ [app]: probes }), app)
    const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet.path)
    expect(paths).toEqual(['/readyz', '/healthz/leader-election', '/livez'])
    expect(startupProbe).toEqual({
      httpGet: { path: '/readyz', port: before.livenessProbe?.httpGet.port },
      initialDelaySeconds: 0,
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 30,
    })
  })

  it('the attacher serves HTTP if the startup probe is its only probe', () => {
    const off = { livenessProbe: { enabled: false }, readinessProbe: { enabled: false } }
    const { args } = sidecar(objectsOf({ attacher: { ...off, startupProbe: { enabled: true } } }), 'attacher')
    expect(args).toContain('--http-endpoint=:8081')
  })

  it.each(APPS)('the container of the %s has a lifecycle only if its value is set', (app) => {
    expect(sidecar(objectsOf({}), app)).not.toHaveProperty('lifecycle')
    const lifecycle = { preStop: { sleep: { seconds: 5 } } }
    expect(sidecar(objectsOf({ [app]: { lifecycle } }), app)).toMatchObject({ lifecycle })
  })

  it('serviceAccount.labels are set on the ServiceAccount, in addition to the labels of the chart', () => {
    const { metadata } = named(
      objectsOf({ serviceAccount: { labels: { cost: 'storage' } } }),
      'ServiceAccount',
      'demo-csi-sidecars',
    )
    expect(metadata.labels).toMatchObject({ cost: 'storage', 'app.kubernetes.io/instance': 'demo' })
  })

  it('the chart renders the entries of extraObjects as templates, both maps and texts', () => {
    const extraObjects = [
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-a' }, data: { x: '1' } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-b\n',
    ]
    const objects = objectsOf({ extraObjects })
    expect(named(objects, 'ConfigMap', 'demo-a').data).toEqual({ x: '1' })
    expect(named(objects, 'ConfigMap', 'demo-b')).toBeDefined()
  })
})

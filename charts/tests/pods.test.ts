import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { APPS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { CHART, exampleFile, render } from './helm.ts'
import { type Manifest, named, ofKind, type PodSpec, podSpecs, sidecar } from './manifest.ts'
import { baselineViolations, restrictedViolations } from './pod-security.ts'
import { ALL_SIDECARS, merged, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

const ALL = [...APPS, ...SIDECARS_ON_REQUEST.map(({ app }) => app)]
const ROOT = join(CHART, '../..')

it('version and appVersion of the chart equal the version of the sidecars', () => {
  const chart = load(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string; appVersion: string }
  const versions = APPS.map((app) => JSON.parse(readFileSync(join(ROOT, 'apps', app, 'package.json'), 'utf8')).version)
  expect([chart.appVersion, chart.version]).toEqual([`v${versions[0]}`, versions[0]])
  expect(versions[1]).toBe(versions[0])
})

withHelm('rendered pods', () => {
  const defaults = render({ files: [exampleFile('driver')] })
  const withValues = (values: object): readonly Manifest[] =>
    render({ values: merged(readValues(exampleFile('driver')), { ...values }) })
  const pod = (objects: readonly Manifest[]) => podSpecs(objects)[0] as PodSpec

  it('the pod has the driver, the attacher and the resizer, and all mount the volume of the socket', () => {
    const { containers } = pod(defaults)
    expect(containers.map(({ name }) => name)).toEqual(['driver', 'csi-attacher', 'csi-resizer'])
    for (const { volumeMounts } of containers)
      expect(volumeMounts).toContainEqual({ name: 'socket-dir', mountPath: '/csi' })
    expect(pod(defaults).volumes).toEqual([{ name: 'socket-dir', emptyDir: {} }])
  })

  it('the sidecars get the flag and the variables of tracing only if tracing is enabled', () => {
    expect(sidecar(defaults, 'attacher').env?.map(({ name }) => name)).toEqual(['POD_NAMESPACE'])
    const tracing = {
      enabled: true,
      endpoint: 'http://collector:4318',
      sampler: 'traceidratio',
      samplerArgument: 0.25,
      resourceAttributes: { team: 'a b,c' },
      headersSecret: { name: 'token' },
    }
    for (const app of APPS) {
      const { env, args } = sidecar(withValues({ tracing }), app)
      expect(args).toContain('--enable-otel-tracing=true')
      expect(env?.slice(1)).toEqual([
        { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
        { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'team=a%20b%2Cc' },
        { name: 'OTEL_TRACES_SAMPLER', value: 'traceidratio' },
        { name: 'OTEL_TRACES_SAMPLER_ARG', value: '0.25' },
        { name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: { secretKeyRef: { name: 'token', key: 'headers' } } },
      ])
    }
  })

  it('the Deployment has two replicas, which prefer different nodes', () => {
    const controller = ofKind(defaults, 'Deployment')[0]
    expect(controller?.spec?.replicas).toBe(2)
    expect(pod(defaults).topologySpreadConstraints).toEqual([
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: controller?.spec?.selector,
      },
    ])
  })

  it('the labels of the pods match the selector of every object that selects them', () => {
    const objects = render({ files: [exampleFile('monitored')] })
    const labels = ofKind(objects, 'Deployment')[0]?.spec?.template?.metadata.labels
    const selectors = [
      ofKind(objects, 'Deployment')[0]?.spec?.selector?.matchLabels,
      ofKind(objects, 'PodDisruptionBudget')[0]?.spec?.selector?.matchLabels,
      ofKind(objects, 'NetworkPolicy')[0]?.spec?.podSelector?.matchLabels,
      ...ofKind(objects, 'Service').map(({ spec }) => spec?.selector),
    ]
    expect(selectors).toHaveLength(5)
    for (const selector of selectors) expect(labels).toMatchObject(selector ?? { missing: 'selector' })
  })

  it.each(ALL)('the container of the %s has a liveness and a readiness probe by default', (app) => {
    const { livenessProbe, readinessProbe, ports = [] } = sidecar(withValues(ALL_SIDECARS), app)
    expect(livenessProbe).toMatchObject({ httpGet: { path: '/livez' }, initialDelaySeconds: 30, failureThreshold: 3 })
    // Shorter than that of the pod, because a process that hangs takes all of it.
    expect(livenessProbe).toMatchObject({ terminationGracePeriodSeconds: 30 })
    expect(readinessProbe).not.toHaveProperty('terminationGracePeriodSeconds')
    expect(readinessProbe).toMatchObject({ httpGet: { path: '/readyz' } })
    const portNames = ports.map(({ name }) => name)
    expect(portNames).toEqual([livenessProbe?.httpGet.port])
    expect(portNames[0]?.length).toBeLessThanOrEqual(15)
  })

  it('containers have the image of the registry, with its tag or with the given digest', () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const objects = withValues({ image: { registry: 'example.com/x/' }, resizer: { image: { digest, tag: 'v1' } } })
    expect(sidecar(objects, 'attacher').image).toMatch(/^example\.com\/x\/csi-attacher:v\d+\.\d+\.\d+$/)
    expect(sidecar(objects, 'resizer').image).toBe(`example.com/x/csi-resizer@${digest}`)
  })

  it("the chart renders the driver's containers and volumes as templates", () => {
    const { containers, initContainers, volumes } = pod(render({ files: [exampleFile('every-value')] }))
    expect(containers[0]?.args).toContain('--cluster=demo')
    expect(initContainers?.[0]?.args).toEqual(['storage'])
    expect(volumes).toContainEqual({ name: 'driver-config', configMap: { name: 'demo-config' } })
  })

  it('with a kubeconfig Secret, each sidecar mounts the Secret and gets --kubeconfig', () => {
    const objects = render({ files: [exampleFile('hosted-control-plane')] })
    for (const app of APPS) {
      expect(sidecar(objects, app).args).toContain('--kubeconfig=/etc/csi-sidecars/kubeconfig')
      expect(sidecar(objects, app).volumeMounts).toContainEqual({
        name: 'csi-sidecars-kubeconfig',
        mountPath: '/etc/csi-sidecars',
        readOnly: true,
      })
    }
    expect(pod(objects).volumes).toContainEqual({
      name: 'csi-sidecars-kubeconfig',
      secret: { secretName: 'guest-kubeconfig' },
    })
  })

  it('`mode: separate` renders one Deployment with one container for each sidecar', () => {
    const objects = render({ files: [exampleFile('separate')] })
    for (const app of APPS) {
      const controller = named(objects, 'Deployment', `demo-csi-sidecars-${app}`)
      expect(controller.spec?.template?.spec.containers.map(({ name }) => name)).toEqual([`csi-${app}`])
      expect(controller.spec?.template?.spec.volumes).toEqual([
        { name: 'socket-dir', hostPath: { path: '/var/lib/kubelet/plugins/example.csi.k8s.io', type: 'Directory' } },
      ])
      expect(named(objects, 'PodDisruptionBudget', `demo-csi-sidecars-${app}`).spec?.selector).toEqual(
        controller.spec?.selector,
      )
    }
  })

  it('the pods have the volumes of driver.volumes with `mode: separate` too', () => {
    const values = merged(readValues(exampleFile('separate')), {
      driver: { volumes: [{ name: 'extra', configMap: { name: '{{ .Release.Name }}-extra' } }] },
      attacher: { volumeMounts: [{ name: 'extra', mountPath: '/extra' }] },
    })
    for (const { containers, volumes } of podSpecs(render({ values }))) {
      const mounted = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name))
      expect(volumes.map(({ name }) => name)).toEqual(expect.arrayContaining(mounted))
      expect(volumes).toContainEqual({ name: 'extra', configMap: { name: 'demo-extra' } })
    }
  })

  it('a label that is set for one object overrides the same key in commonLabels', () => {
    const values = {
      commonLabels: { team: 'storage', tier: '1', 'app.kubernetes.io/part-of': 'backend' },
      controller: { podLabels: { team: 'pods' } },
      metrics: { enabled: true, service: { labels: { team: 'metrics' } } },
    }
    const objects = withValues(values)
    const [controller] = ofKind(objects, 'Deployment')
    const shared = { tier: '1', 'app.kubernetes.io/part-of': 'backend', 'app.kubernetes.io/instance': 'demo' }
    expect(controller?.metadata.labels).toMatchObject({ ...shared, team: 'storage' })
    expect(controller?.spec?.template?.metadata.labels).toMatchObject({ ...shared, team: 'pods' })
    for (const { metadata } of ofKind(objects, 'Service')) {
      expect(metadata.labels).toMatchObject({ ...shared, team: 'metrics', 'app.kubernetes.io/component': 'metrics' })
    }
  })

  it.each(APPS)('the pod contains only the driver and the %s if no other sidecar is enabled', (app) => {
    const other = app === 'attacher' ? 'resizer' : 'attacher'
    const names = pod(withValues({ [other]: { enabled: false } })).containers.map(({ name }) => name)
    expect(names).toEqual(['driver', `csi-${app}`])
  })

  it('controller.updateStrategy replaces the default strategy of the Deployment', () => {
    const recreate = withValues({ controller: { updateStrategy: { type: 'Recreate' } } })
    expect(ofKind(recreate, 'Deployment')[0]?.spec?.['strategy']).toEqual({ type: 'Recreate' })
  })

  it('the chart omits allowPrivilegeEscalation for a privileged container', () => {
    const objects = withValues({ attacher: { securityContext: { privileged: true } } })
    expect(sidecar(objects, 'attacher').securityContext).toMatchObject({ privileged: true })
    expect(sidecar(objects, 'attacher').securityContext).not.toHaveProperty('allowPrivilegeEscalation')
  })

  it('the default pod passes the Pod Security level baseline', () => {
    expect(baselineViolations(pod(defaults))).toEqual([])
  })

  it('the pod of examples/restricted.yaml passes the Pod Security level restricted', () => {
    expect(restrictedViolations(pod(render({ files: [exampleFile('restricted')] })))).toEqual([])
  })

  it('the check of Pod Security levels finds host network, privileged containers and root', () => {
    const broken = withValues({
      controller: { hostNetwork: true },
      attacher: { securityContext: { privileged: true } },
    })
    expect(baselineViolations(pod(broken))).toEqual(['hostNetwork', 'csi-attacher privileged'])
    expect(restrictedViolations(pod(defaults))).toContain('csi-attacher may be root')
  })
})

withHelm('the CSIDriver', () => {
  it('a provisioner with capacity sets storageCapacity of the CSIDriver, unless csiDriver.spec has it', () => {
    const specOf = (spec: object, enabled = true): unknown => {
      const provisioner = { enabled, capacity: { enabled: true } }
      const values = { csiDriver: { create: true, spec }, provisioner }
      return ofKind(render({ values: merged(readValues(exampleFile('driver')), values) }), 'CSIDriver')[0]?.spec
    }
    expect(specOf({})).toEqual({ attachRequired: true, storageCapacity: true })
    expect(specOf({ storageCapacity: false })).toEqual({ attachRequired: true, storageCapacity: false })
    expect(specOf({}, false)).toEqual({ attachRequired: true })
  })

  it('the chart creates the CSIDriver object only if csiDriver.create is true', () => {
    const values = readValues(exampleFile('driver'))
    expect(ofKind(render({ values }), 'CSIDriver')).toEqual([])
    const made = named(
      render({ values: merged(values, { csiDriver: { create: true } }) }),
      'CSIDriver',
      'example.csi.k8s.io',
    )
    expect(made.spec).toEqual({ attachRequired: true })
  })
})

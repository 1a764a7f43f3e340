import { expect, it } from '@jest/globals'
import { APPS } from '../tools/flag-keys.ts'
import { CHART, EXAMPLES, type Example, exampleFile, runHelm, tryRender } from './helm.ts'
import { at, merged, ON_OWN_NODES, readValues } from './values.ts'
import { withHelm } from './with-helm.ts'

withHelm('helm lint', () => {
  it('helm lint --strict accepts the chart with its default values', () => {
    expect(runHelm(['lint', '--strict', CHART])).toMatchObject({ status: 0 })
  })

  it.each(EXAMPLES)('helm lint --strict accepts the chart with examples/%s.yaml', (example) => {
    const { status, stdout } = runHelm(['lint', '--strict', CHART], { files: [exampleFile(example)] })
    expect([status, stdout]).toEqual([0, expect.stringContaining('1 chart(s) linted, 0 chart(s) failed')])
  })
})

withHelm('value checks', () => {
  const HOST_SOCKET = { socketDir: { volume: { hostPath: { path: '/var/lib/kubelet/plugins/example.csi.k8s.io' } } } }
  const driver = readValues(exampleFile('driver'))
  const separate = readValues(exampleFile('separate'))
  const failure = (base: object, values: object): string => {
    const rendered = tryRender({ values: merged({ ...base }, { ...values }) })
    return rendered.kind === 'failed' ? rendered.error : 'rendered'
  }

  it.each([
    [{}, { attacher: { enabled: false }, resizer: { enabled: false } }, 'Nothing to install'],
    [{}, {}, 'driver.containers is empty'],
    [separate, { socketDir: { volume: { hostPath: null } } }, 'socketDir.volume needs a hostPath in mode separate'],
    [separate, { driver: driver['driver'] }, 'driver.containers and driver.initContainers are for mode shared'],
    [
      separate,
      { driver: { initContainers: [{ name: 'wait', image: 'wait:v1' }] } },
      'driver.containers and driver.initContainers are for mode shared',
    ],
    ...['serviceMonitor', 'podMonitor', 'prometheusRule', 'dashboard'].map((part): [object, object, string] => [
      driver,
      { metrics: { [part]: { enabled: true } } },
      `metrics.${part}.enabled needs metrics.enabled.`,
    ]),
    ...['serviceMonitor', 'podMonitor'].map((part): [object, object, string] => [
      driver,
      { metrics: { [part]: { interval: '30s', scrapeTimeout: '31s' } } },
      `metrics.${part}.scrapeTimeout is longer than metrics.${part}.interval`,
    ]),
    [driver, { livenessprobe: { enabled: true } }, 'livenessprobe.enabled needs process one'],
    [separate, { process: 'one', livenessprobe: { enabled: true } }, 'livenessprobe.enabled needs mode shared'],
    [
      driver,
      { process: 'one', livenessprobe: { enabled: true, port: 8081 } },
      'livenessprobe.port and sidecars.metricsPort are the same',
    ],
    [driver, { resizer: { metricsPort: 8081 } }, 'attacher.metricsPort and resizer.metricsPort are the same'],
    [driver, { logging: { vmodule: 'watch=5', format: 'json' } }, 'logging.vmodule is for the text format only'],
    [
      driver,
      { socketDir: { volumeName: 'elsewhere' } },
      'No container of driver.containers mounts the volume "elsewhere"',
    ],
    ...[{}, { replicaCount: 3 }, { kind: 'StatefulSet' }].map((controller): [object, object, string] => [
      driver,
      { ...HOST_SOCKET, controller },
      `controller.replicaCount is ${controller.replicaCount ?? 2}, but socketDir.volume is a hostPath`,
    ]),
    [driver, { leaderElection: { leaseDuration: '10s' } }, 'leaderElection.leaseDuration (default 15s) must be longer'],
    [driver, { leaderElection: { renewDeadline: '1m' } }, 'leaderElection.leaseDuration (default 15s) must be longer'],
    [driver, { leaderElection: { retryPeriod: '8.4s' } }, 'leaderElection.renewDeadline (default 10s) must be longer'],
    [driver, { attacher: { drainTimeout: '1.5m' } }, 'attacher.drainTimeout (default 25s) must be shorter'],
    [
      driver,
      { controller: { terminationGracePeriodSeconds: 25 } },
      'attacher.drainTimeout (default 25s) must be shorter',
    ],
    ...[0, 25].map((terminationGracePeriodSeconds): [object, object, string] => [
      driver,
      { controller: { podSpec: { terminationGracePeriodSeconds } } },
      'attacher.drainTimeout (default 25s) must be shorter than controller.podSpec.terminationGracePeriodSeconds',
    ]),
    [
      driver,
      { attacher: { livenessProbe: { terminationGracePeriodSeconds: 25 } } },
      'attacher.drainTimeout (default 25s) must be shorter than attacher.livenessProbe.terminationGracePeriodSeconds',
    ],
    [
      separate,
      {
        attacher: { metricsPort: 9000 },
        resizer: { metricsPort: 9000 },
        controller: { podSpec: { hostNetwork: true } },
      },
      'attacher.metricsPort and resizer.metricsPort are the same',
    ],
  ])(
    'the chart refuses values that cannot work, with a sentence that names them: case %#',
    (base, values, sentence) => {
      expect(failure(base, values)).toContain(sentence)
    },
  )

  it.each([
    [{ leaderElection: { enabled: false } }, 'controller.replicaCount is more than 1 without leaderElection.enabled'],
    [
      { resizer: { timeout: '1m', modifyTimeout: '1m' } },
      'resizer.timeout is given together with resizer.resizeTimeout',
    ],
    [
      { resizer: { timeout: '1m', resizeTimeout: '1m' } },
      'resizer.timeout is given together with resizer.resizeTimeout',
    ],
    [{ csiDriver: { create: true }, driver: { name: '' } }, 'csiDriver.create needs driver.name'],
    [
      { tls: { enabled: true, certManager: { enabled: true, issuerRef: null } } },
      'tls.certManager.enabled needs tls.certManager.issuerRef with a name',
    ],
    [
      { attacher: { featureGates: { MutableCSINodeAllocatable: true } } },
      'attacher.featureGates has "MutableCSINodeAllocatable", which the attacher does not know',
    ],
    [
      { resizer: { featureGates: { MutableCSINodeAllocatableCount: true } } },
      'It has AnnotateFsResize, ReleaseLeaderElectionOnExit, VolumeAttributesClass.',
    ],
    ...[
      ['provisioner', 'volumeNameUUIDLength'],
      ['snapshotter', 'snapshotNameUuidLength'],
      ['snapshotter', 'groupSnapshotNameUuidLength'],
    ].flatMap(([app = '', key = '']) =>
      [0, 33].map((length): [object, string] => [
        { [app]: { enabled: true, [key]: length } },
        `${app}.${key} is ${length}: it must be -1 or between 1 and 32.`,
      ]),
    ),
    ...['79Mi', '83886079', '80M', '0.07Gi', '8e7', '83000000000m', 50].map((memory): [object, string] => [
      { attacher: { resources: { limits: { memory } } } },
      `attacher.resources.limits.memory is ${memory === 50 ? 50 : memory}: with less than 80Mi`,
    ]),
    [
      { process: 'one', sidecars: { resources: { limits: { memory: '64Mi' } } } },
      'sidecars.resources.limits.memory is',
    ],
  ])('the templates of the chart, not its schema, refuse values that cannot work: %j', (values, sentence) => {
    expect(failure(driver, values)).toContain(sentence)
  })

  it.each([
    { leaderElection: { leaseDuration: '10.5s', retryPeriod: '8.3s' } },
    { leaderElection: { leaseDuration: '2m', renewDeadline: '1m', retryPeriod: '30s' } },
    { attacher: { enabled: false }, resizer: { metricsPort: 8081 } },
    ...[-1, 1, 32].map((volumeNameUUIDLength) => ({ provisioner: { enabled: true, volumeNameUUIDLength } })),
    { resizer: { featureGates: { RecoverVolumeExpansionFailure: false, WatchList: true, AllBeta: false } } },
    ...['80Mi', '83886080', '84M', '0.1Gi', '1e9', '1Ti'].map((memory) => ({
      resizer: { resources: { limits: { memory } } },
    })),
    ...[
      { replicaCount: 1 },
      { kind: 'DaemonSet' },
      { affinity: ON_OWN_NODES },
      { podSpec: { affinity: ON_OWN_NODES } },
    ].map((controller) => ({ ...HOST_SOCKET, controller })),
    { controller: { terminationGracePeriodSeconds: 10, podSpec: { terminationGracePeriodSeconds: 26 } } },
  ])('the chart renders values that are just valid: %j', (values) => {
    expect(failure(driver, values)).toBe('rendered')
  })

  const GATES = APPS.map((app) => `${app}.featureGates`)
  const optional: [Example, readonly string[]][] = [
    [
      'every-value',
      [
        ...GATES,
        ...APPS.map((app) => `${app}.resources`),
        'commonAnnotations',
        'imagePullSecrets',
        'metrics.service.annotations',
        'controller.podAnnotations',
        'controller.podSpec',
        'csiDriver.spec',
      ],
    ],
    ['block-driver', [...GATES, 'driver.name', 'livenessprobe.enabled', 'sidecars.resources']],
  ]
  it.each(optional)('the chart renders examples/%s.yaml if its optional values are null', (example, paths) => {
    const values = paths.reduce((all, path) => merged(all, at(path, null)), {})
    const rendered = tryRender({ files: [exampleFile(example)], values, tests: true })
    expect(rendered.kind === 'failed' ? rendered.error : 'rendered').toBe('rendered')
  })
})

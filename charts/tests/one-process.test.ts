import { isJsonObject } from '@csi-sidecars/kube-types'
import { sidecars } from '@csi-sidecars/sidecars'
import { describe, expect, it } from '@jest/globals'
import { APPS, EACH, FLAG_KEYS, pathOf, textOf } from '../tools/flag-keys.ts'
import { exampleFile, render, tryRender } from './helm.ts'
import { type Manifest, named, ofKind, podSpecs, sidecar } from './manifest.ts'
import { restrictedViolations } from './pod-security.ts'
import { ALL_SIDECARS, at, get, merged, readValues, VALUES_FILE, type Values } from './values.ts'
import { withHelm } from './with-helm.ts'

const ONE = merged(merged(readValues(exampleFile('driver')), ALL_SIDECARS), { process: 'one' })
const withValues = (values: object): readonly Manifest[] => render({ values: merged(ONE, { ...values }) })
const argsOf = (objects: readonly Manifest[]): readonly string[] => sidecar(objects, 'sidecars').args ?? []

/** The flags of the combined process with a sidecar's prefix. Flags without a prefix are in the section `sidecars`. */
const OWN_FLAGS = APPS.flatMap((app) =>
  FLAG_KEYS.filter(({ section }) => section === app || section === EACH)
    // The resizer's --timeout is left out, because with it the chart omits two other flags of this list.
    .filter(({ flag }) => !(app === 'resizer' && flag.name === 'timeout'))
    .map((key) => [`--${app}-${key.flag.name}`, pathOf(key, app), key.testValue, textOf(key)] as const),
)

/** The paths of all values in the sections `attacher` and `resizer`, each with a value other than its default. */
const LEAVES = (['attacher', 'resizer'] as const).flatMap((app) => leavesOf(readValues(VALUES_FILE)[app], app))

function leavesOf(value: unknown, path: string): readonly (readonly [path: string, other: unknown])[] {
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.entries(value).flatMap(([key, below]) => leavesOf(below, `${path}.${key}`))
  }
  return path.endsWith('.enabled') && path.split('.').length === 2 ? [] : [[path, otherThan(path, value)]]
}

/**
 * Returns a value that differs from the given value: the sample of a flag, the value in examples/every-value.yaml, or
 * another value that the schema accepts.
 */
function otherThan(path: string, value: unknown): unknown {
  const flag = FLAG_KEYS.find((key) => APPS.some((app) => pathOf(key, app) === path))
  if (flag !== undefined) return flag.testValue
  const example = get(readValues(exampleFile('every-value')), path)
  if (example !== undefined && JSON.stringify(example) !== JSON.stringify(value)) return example
  if (Array.isArray(value)) return []
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  if (path.endsWith('.digest')) return `sha256:${'0'.repeat(64)}`
  if (path.endsWith('.path')) return '/other'
  if (path.endsWith('.type')) return 'Unconfined'
  if (path.endsWith('.memory')) return '512Mi'
  throw new Error(`no other value for ${path}`)
}

/** Returns the key that error messages of the chart name: the first two levels of the path. */
const keyOf = (path: string): string => path.split('.').slice(0, 2).join('.')

withHelm('combined process', () => {
  const defaults = render({ values: ONE })

  it('the combined process has one container next to the driver, with one port for metrics and probes', () => {
    const [pod] = podSpecs(defaults)
    expect(pod?.containers.map(({ name }) => name)).toEqual(['driver', 'csi-sidecars'])
    const { image, ports, livenessProbe, readinessProbe } = sidecar(defaults, 'sidecars')
    expect(image).toMatch(/csi-sidecars:v\d/)
    expect(ports).toEqual([{ name: 'metrics', containerPort: 8081, protocol: 'TCP' }])
    expect([livenessProbe?.httpGet.port, readinessProbe?.httpGet.port]).toEqual(['metrics', 'metrics'])
  })

  it('the combined process has the same roles and accounts as separate processes', () => {
    const each = render({ values: merged(ONE, { process: 'each' }) })
    for (const kind of ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding', 'ServiceAccount']) {
      expect(ofKind(defaults, kind)).toEqual(ofKind(each, kind))
    }
  })

  it('the combined process runs exactly the enabled sidecars', () => {
    expect(argsOf(defaults)).toContain('--controllers=attacher,resizer,provisioner,snapshotter')
    const alone = withValues({ resizer: { enabled: false }, snapshotter: { enabled: false } })
    expect(argsOf(alone)).toContain('--controllers=attacher,provisioner')
    expect(argsOf(alone).filter((argument) => /^--(resizer|snapshotter)-/.test(argument))).toEqual([])
    expect(ofKind(alone, 'ClusterRole')).toHaveLength(2)
  })

  it('the combined process runs the livenessprobe if it is enabled, on the port that the driver container probes', () => {
    const objects = render({ files: [exampleFile('one-process')] })
    const args = argsOf(objects)
    expect(args).toContain('--controllers=attacher,resizer,livenessprobe')
    expect(args).toContain('--livenessprobe-health-port=9808')
    expect(sidecars.parse({ argv0: 'csi-sidecars', args })).toMatchObject({ kind: 'start' })
    expect(sidecar(objects, 'sidecars').ports).toContainEqual({
      name: 'livenessprobe',
      containerPort: 9808,
      protocol: 'TCP',
    })
    const driver = podSpecs(objects)[0]?.containers.find(({ name }) => name === 'driver')
    expect(driver?.livenessProbe?.httpGet).toEqual({ path: '/healthz', port: 9808 })
    const other = withValues({ livenessprobe: { enabled: true, port: 9900, probeTimeout: '4s' } })
    const flags = argsOf(other).filter((argument) => argument.startsWith('--livenessprobe-'))
    expect(flags).toEqual(['--livenessprobe-health-port=9900', '--livenessprobe-probe-timeout=4s'])
    expect(argsOf(defaults).join()).not.toContain('livenessprobe')
  })

  it.each([
    ['names', [{ name: 'healthz', containerPort: 9898 }], 0],
    ['does not name', [{ name: 'other', containerPort: 9899 }], 1],
    ['names for UDP', [{ name: 'healthz', containerPort: 9898, protocol: 'UDP' }], 1],
  ])('no port is declared twice if the driver container %s the port of the livenessprobe', (_what, ports, ownPorts) => {
    const [container] = (ONE as { driver: { containers: object[] } }).driver.containers
    const objects = withValues({
      livenessprobe: { enabled: true, port: 9898 },
      driver: { containers: [{ ...container, ports }] },
    })
    const declared = sidecar(objects, 'sidecars').ports?.filter(({ containerPort }) => containerPort === 9898) ?? []
    expect(declared).toHaveLength(ownPorts)
    expect(argsOf(objects)).toContain('--livenessprobe-health-port=9898')
  })

  describe('combined flags', () => {
    const every = OWN_FLAGS.reduce<Values>((values, [, key, value]) => merged(values, at(key, value)), {})
    const args = argsOf(withValues(every))

    it.each(OWN_FLAGS)('the combined process gets %s if its value is set', (flag, _key, _value, text) => {
      expect(args.filter((argument) => argument.startsWith(`${flag}=`))).toEqual([`${flag}=${text}`])
    })

    it('the combined process accepts every flag of all sidecars together', () => {
      expect(sidecars.parse({ argv0: 'csi-sidecars', args })).toMatchObject({ kind: 'start' })
    })
  })

  it.each(['block-driver', 'node-local'] as const)(
    'the combined process accepts the arguments of examples/%s.yaml',
    (example) => {
      const args = argsOf(render({ files: [exampleFile(example)] }))
      const command = { argv0: 'csi-sidecars', args, env: { NODE_NAME: 'a' } }
      expect(sidecars.parse(command)).toMatchObject({ kind: 'start' })
    },
  )

  it('the combined process accepts its default arguments', () => {
    expect(sidecars.parse({ argv0: 'csi-sidecars', args: argsOf(defaults) })).toMatchObject({ kind: 'start' })
  })

  it('the combined process gets the flags of section `sidecars` once, without a prefix', () => {
    const process = { onLeaseLoss: 'exit', drainTimeout: '28s', kubeAPIQPS: 12.5, logLevel: 6, singleLease: 'both' }
    const args = argsOf(withValues({ sidecars: { ...process, additionalArgs: ['--resizer-v=9'] } }))
    expect(args).toEqual(
      expect.arrayContaining([
        '--on-lease-loss=exit',
        '--drain-timeout=28s',
        '--kube-api-qps=12.5',
        '--v=6',
        '--single-lease=both',
      ]),
    )
    expect(args.at(-1)).toBe('--resizer-v=9')
  })

  it.each([
    [{ attacher: { onLeaseLoss: 'exit' } }, 'attacher.onLeaseLoss is for a process of its own'],
    [{ resizer: { logLevel: 0 } }, 'resizer.logLevel is for a process of its own'],
    [{ resizer: { additionalArgs: ['--v=9'] } }, 'sidecars.additionalArgs says it for all'],
    [{ attacher: { lifecycle: { preStop: {} } } }, 'sidecars.lifecycle says it for all'],
    [{ resizer: { startupProbe: { enabled: true } } }, 'resizer.startupProbe is for a process of its own'],
    [{ attacher: { image: { tag: 'v2' } } }, 'with process one, sidecars.image.tag says it for all'],
    [{ process: 'each', sidecars: { singleLease: 'both' } }, 'sidecars.singleLease needs process one'],
    [{ sidecars: { drainTimeout: '2m' } }, 'sidecars.drainTimeout (default 25s) must be shorter'],
    [
      { sidecars: { singleLease: 'x' }, leaderElection: { enabled: false }, controller: { replicaCount: 1 } },
      'needs leaderElection.enabled',
    ],
  ])('the chart refuses values that contradict the value of `process`: %j', (values, sentence) => {
    const rendered = tryRender({ values: merged(ONE, { ...values }) })
    expect(rendered.kind === 'failed' ? rendered.error : 'rendered').toContain(sentence)
  })

  describe('sidecar values', () => {
    const base = JSON.stringify(defaults)
    /** Reports whether the chart ignores a value. An error that names the value shows that the chart has read it. */
    const isPassedOver = (path: string, value: unknown): boolean => {
      const rendered = tryRender({ values: merged(ONE, at(path, value)) })
      if (rendered.kind === 'rendered') return JSON.stringify(rendered.objects) === base
      return !rendered.error.includes(keyOf(path))
    }

    it.each(LEAVES)('the combined process does not ignore the value %s', (path, value) => {
      expect(isPassedOver(path, value)).toBe(false)
    })

    it('the test covers more than 100 values of attacher and resizer', () => {
      expect(LEAVES.length).toBeGreaterThan(100)
    })
  })

  it('the combined process with `mode: separate` has one Deployment with one account', () => {
    const objects = render({ values: merged(readValues(exampleFile('separate')), { process: 'one' }) })
    const { template } = named(objects, 'Deployment', 'demo-csi-sidecars-sidecars').spec ?? {}
    expect(template?.spec.containers.map(({ name }) => name)).toEqual(['csi-sidecars'])
    expect(ofKind(objects, 'Deployment')).toHaveLength(1)
    const accounts = ofKind(objects, 'ClusterRoleBinding').flatMap(({ subjects = [] }) => subjects.map((s) => s.name))
    expect(new Set(accounts)).toEqual(new Set([template?.spec.serviceAccountName]))
  })

  it('the combined process has one metrics Service with one port', () => {
    const values = merged(readValues(exampleFile('monitored')), { process: 'one' })
    const services = ofKind(render({ values }), 'Service')
    expect(services.map(({ spec }) => spec?.ports?.map(({ name }) => name))).toEqual([['metrics']])
  })

  it('the pod of the combined process passes the Pod Security level restricted', () => {
    const [pod] = podSpecs(render({ values: merged(readValues(exampleFile('restricted')), { process: 'one' }) }))
    expect(pod === undefined ? ['no pod'] : restrictedViolations(pod)).toEqual([])
  })
})

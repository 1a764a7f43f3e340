import { readFileSync } from 'node:fs'
import { isJsonObject } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { load } from 'js-yaml'
import { APPS, keysOf, pathOf } from '../tools/flag-keys.ts'
import { EXAMPLES, exampleFile } from './helm.ts'
import { at, get, merged, readValues, schema, VALUES_FILE, type Values, validator } from './values.ts'

const DEFAULTS = readValues(VALUES_FILE)
const EVERY = readValues(exampleFile('every-value'))
const SCHEMA = schema()
const validate = validator()

/** Keys of the schema that only a parent chart sets. values.yaml does not contain them. */
const OF_A_PARENT = ['enabled', 'global']

/** Returns the maps of the schema that accept only listed keys: the path of each, such as `a.b`, and its keys. */
function maps(of: Values = SCHEMA, path = ''): [path: string, keys: readonly string[]][] {
  const schema = typeof of['$ref'] === 'string' ? (get(SCHEMA, of['$ref'].slice(2).replace('/', '.')) as Values) : of
  if (schema['additionalProperties'] !== false) return []
  const properties = schema['properties'] as Values
  const below = Object.entries(properties).flatMap(([key, value]) =>
    maps(value as Values, path ? `${path}.${key}` : key),
  )
  return [[path, Object.keys(properties)], ...below]
}

const valueAt = (values: Values, path: string): unknown => (path === '' ? values : get(values, path))
const MAPS = maps()

describe('values.schema.json', () => {
  it('values.schema.json accepts the default values', () => {
    expect(validate(DEFAULTS) || validate.errors).toBe(true)
  })

  it.each(EXAMPLES)('values.schema.json accepts examples/%s.yaml', (example) => {
    expect(validate(merged(DEFAULTS, readValues(exampleFile(example)))) || validate.errors).toBe(true)
  })

  it('values.schema.json has exactly the keys that values.yaml documents', () => {
    for (const [path, keys] of MAPS) {
      const documented = Object.keys(valueAt(DEFAULTS, path) as Values)
      const optional = path.endsWith('Probe') ? ['successThreshold', 'terminationGracePeriodSeconds'] : OF_A_PARENT
      expect([path, documented.sort()]).toEqual([
        path,
        keys.filter((key) => !optional.includes(key) || documented.includes(key)).sort(),
      ])
    }
  })

  it.each(MAPS.flatMap(([path, keys]) => keys.map((key) => (path ? `${path}.${key}` : key))))(
    'values.schema.json refuses a misspelt %s',
    (key) => {
      const misspelt = merged(DEFAULTS, at(`${key}s_`, get(DEFAULTS, key) ?? {}))
      expect(validate(misspelt)).toBe(false)
      expect(validate.errors?.[0]?.keyword).toBe('additionalProperties')
    },
  )

  // Helm removes a key whose value is null.
  it.each(MAPS.flatMap(([path]) => (path === '' ? [] : [path])))(
    'values.schema.json refuses values without the section %s',
    (path) => {
      const name = path.split('.').at(-1)
      // JSON has no undefined values.
      expect(validate(JSON.parse(JSON.stringify(merged(DEFAULTS, at(path, undefined)))))).toBe(false)
      expect(validate.errors?.map(({ message }) => message)).toEqual([`must have required property '${name}'`])
    },
  )

  it.each([
    ['a duration without a unit', 'attacher.timeout', '60'],
    ['a duration that is a number', 'attacher.timeout', 60],
    ['a duration in days', 'attacher.reconcileSync', '1d'],
    ['a long flag with one dash, which the provisioner does not read', 'provisioner.additionalArgs', ['-vmodule=a=5']],
    ['an argument that is no flag', 'resizer.additionalArgs', ['timeout=5s']],
    ['a feature gate that is text', 'resizer.featureGates', { VolumeAttributesClass: 'false' }],
    ['a burst of zero', 'attacher.kubeAPIBurst', 0],
    ['no workers', 'resizer.workers', 0],
    ['a length below -1', 'provisioner.volumeNameUUIDLength', -2],
    ['a fraction as the number of worker threads', 'attacher.workerThreads', 1.5],
    ['a verbosity over 10', 'attacher.logLevel', 11],
    ['an unknown format', 'logging.format', 'logfmt'],
    ['an unknown policy', 'image.pullPolicy', 'Sometimes'],
    ['an unknown mode', 'mode', 'sidecar'],
    ['an unknown value of `process`', 'process', 'two'],
    ['an unknown controller', 'controller.kind', 'Job'],
    ['a text that is no digest', 'attacher.image.digest', 'latest'],
    ['a common label that replaces a selector label', 'commonLabels', { 'app.kubernetes.io/name': 'mine' }],
    ['a label that is a number', 'controller.podLabels', { tier: 1 }],
    ['a Lease that no API server takes', 'sidecars.singleLease', 'Own_Lease'],
    ['an unknown version of TLS', 'tls.minVersion', 'VersionTLS11'],
    ["a cipher by Go's name", 'tls.cipherSuites', ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256']],
    ['a path that does not begin with a slash', 'authorization.alwaysAllowPaths', ['livez']],
    ['a scraper without a kind', 'authorization.scrapers', [{ name: 'prometheus' }]],
    ['secrets without a namespace', 'rbac.secretNames', [{ names: ['login'] }]],
  ])('values.schema.json refuses %s', (_, key, value) => {
    expect(validate(merged(DEFAULTS, at(key, value)))).toBe(false)
  })

  it.each(['120s', '2m', '1.5h', '100ms', '1h30m', '0s', ''])(
    'values.schema.json accepts the duration "%s"',
    (text) => {
      expect(validate(merged(DEFAULTS, at('attacher.timeout', text)))).toBe(true)
    },
  )
})

describe('examples/every-value.yaml', () => {
  it('examples/every-value.yaml sets every key to another value than its default, with listed exceptions', () => {
    const same = (before: unknown, after: unknown): boolean => JSON.stringify(before) === JSON.stringify(after)
    const leaves = (values: Values, path = ''): string[] =>
      Object.entries(values).flatMap(([key, value]) => {
        const name = path ? `${path}.${key}` : key
        return isJsonObject(value) && MAPS.some(([map]) => map === name) ? leaves(value, name) : [name]
      })
    // The example may lack values of flags, because `flags.test.ts` sets each of them.
    const ofFlags = APPS.flatMap((app) => keysOf(app).map((key) => pathOf(key, app)))
    const missing = (key: string): boolean => get(EVERY, key) === undefined && !ofFlags.includes(key)
    const kept = leaves(DEFAULTS).filter((key) => same(get(DEFAULTS, key), get(EVERY, key)) || missing(key))
    // These values must keep their defaults. Other values would make the chart fail or ignore the rest.
    expect(kept).toEqual([
      'mode',
      'process',
      'logging.format',
      'leaderElection.enabled',
      'attacher.enabled',
      'attacher.image.digest',
      'attacher.livenessProbe.enabled',
      'attacher.readinessProbe.enabled',
      'resizer.enabled',
      'resizer.timeout',
      ...['path', 'initialDelaySeconds', 'periodSeconds', 'timeoutSeconds', 'failureThreshold'].map(
        (key) => `resizer.livenessProbe.${key}`,
      ),
      'resizer.livenessProbe.terminationGracePeriodSeconds',
      ...['path', 'initialDelaySeconds', 'periodSeconds', 'timeoutSeconds', 'failureThreshold'].map(
        (key) => `resizer.readinessProbe.${key}`,
      ),
      ...['provisioner', 'snapshotter'].flatMap((app) =>
        ['image.digest', 'livenessProbe.enabled', 'readinessProbe.enabled'].map((key) => `${app}.${key}`),
      ),
      'livenessprobe.enabled',
      'sidecars.image.digest',
      'sidecars.singleLease',
      'sidecars.livenessProbe.enabled',
      'sidecars.readinessProbe.enabled',
      'tls.clientCA.configMapName',
      'rbac.create',
      'serviceAccount.create',
      'controller.podDisruptionBudget.enabled',
    ])
  })
})

/** Returns the examples in the comments of values.yaml, each with the key below it. */
function shownExamples(): [key: string, text: string][] {
  const examples: [string, string][] = []
  const path: string[] = []
  let shownKeys: string[] = []
  for (const line of readFileSync(VALUES_FILE, 'utf8').split('\n')) {
    const [, indent = '', key] = /^( *)(?:# .*|([a-zA-Z]+):.*)$/.exec(line) ?? []
    if (key === undefined) {
      shownKeys.push(...(line.match(/[[{].*[\]}]/g) ?? []))
      continue
    }
    path.splice(indent.length / 2, path.length, key)
    examples.push(...shownKeys.map((text): [string, string] => [path.join('.'), text]))
    shownKeys = []
  }
  return examples
}

describe('values.yaml', () => {
  it.each(shownExamples().filter(([, text]) => !text.includes(' or ')))(
    'the schema accepts the example of %s in the comments of values.yaml: %s',
    (key, text) => {
      expect(validate(merged(DEFAULTS, at(key, load(text)))) || validate.errors).toBe(true)
    },
  )

  it('values.yaml shows examples of values that are lists or maps', () => {
    const keys = shownExamples().map(([key]) => key)
    expect(keys).toEqual(expect.arrayContaining(['imagePullSecrets', 'attacher.featureGates', 'rbac.secretNames']))
  })

  it('values.yaml contains no line longer than 120 columns', () => {
    const lines = readFileSync(VALUES_FILE, 'utf8').split('\n')
    expect(lines.filter((line) => line.length > 120)).toEqual([])
  })
})

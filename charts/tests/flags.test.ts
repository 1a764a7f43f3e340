import { readFileSync } from 'node:fs'
import { leaseTimingError, loggingError, parseFlags, resolveGates, type StandardFlags } from '@csi-sidecars/sidecar'
import { describe, expect, it } from '@jest/globals'
import {
  APPS,
  type AppName,
  FLAG_TABLES,
  type FlagKey,
  GATES,
  keysOf,
  notInValues,
  pathOf,
  textOf,
} from '../tools/flag-keys.ts'
import { documentedValues } from '../tools/value-comments.ts'
import { EXAMPLES, exampleFile, render } from './helm.ts'
import { podSpecs, sidecar } from './manifest.ts'
import { ALL_SIDECARS, at, get, merged, readValues, VALUES_FILE, type Values } from './values.ts'
import { withHelm } from './with-helm.ts'

const FLAGS = APPS.flatMap((app) => keysOf(app).map((key) => ({ app, flag: key.flag.name, key })))

describe.each(APPS)('the values of the %s', (app) => {
  it('every flag of the sidecar has a value in the chart or is listed as an exception', () => {
    const covered = [...keysOf(app).map(({ flag }) => flag.name), ...Object.keys(notInValues(app))]
    expect(covered.sort()).toEqual(FLAG_TABLES[app].map(({ name }) => name).sort())
  })

  it.each(keysOf(app).map((key) => [key.flag.name, pathOf(key, app)]))(
    'values.yaml names --%s in the comment above %s',
    (flag, path) => {
      const { description } = documentedValues().find(({ key }) => key === path) ?? {}
      expect(description).toMatch(new RegExp(`--${flag}(?![a-z-])`))
    },
  )

  it('the comments of values.yaml name the flags that no value sets', () => {
    const text = readFileSync(VALUES_FILE, 'utf8').replace(/\n\s*# /g, ' ')
    expect(Object.keys(notInValues(app)).filter((flag) => !mentions(text, flag))).toEqual([])
  })
})

/** Reports whether a text names a flag. `--log-*-split-stream` names two flags: with `json` and with `text`. */
function mentions(text: string, flag: string): boolean {
  return text.includes(`--${flag}`) || text.includes(`--${flag.replace(/-(json|text)-/, '-*-')}`)
}

withHelm('rendered arguments', () => {
  const base = merged(readValues(exampleFile('driver')), ALL_SIDECARS)
  /** The values for which the chart accepts any drainTimeout. */
  const patient = (app: AppName): Values => merged(base, at(`${app}.livenessProbe.terminationGracePeriodSeconds`, 3600))
  /** The values for which the chart renders the flags with paths of TLS files. */
  const files = { tls: { secretName: 'endpoint', clientCA: { configMapName: 'clients' } } }
  /** Reports whether the chart renders a flag only in place of some other flags, so that it is tested alone. */
  const isAlone = (app: AppName, flag: string): boolean =>
    flag === 'tls-self-signed' || (app === 'resizer' && flag === 'timeout')
  const everyFlag = (app: AppName): Values =>
    keysOf(app)
      .filter(({ flag }) => flag.name === 'tls-self-signed' || !isAlone(app, flag.name))
      .reduce((values, key) => merged(values, at(pathOf(key, app), key.testValue)), merged(patient(app), files))
  const rendered = new Map(APPS.map((app) => [app, sidecar(render({ values: everyFlag(app) }), app).args ?? []]))
  const alone = (app: AppName, key: FlagKey): readonly string[] =>
    sidecar(render({ values: merged(base, at(pathOf(key, app), key.testValue)) }), app).args ?? []

  it.each(FLAGS)('the container of the $app gets --$flag if its value is set', ({ app, flag, key }) => {
    const args = isAlone(app, flag) ? alone(app, key) : (rendered.get(app) ?? [])
    expect(args.filter((argument) => argument.startsWith(`--${flag}=`))).toEqual([`--${flag}=${textOf(key)}`])
  })

  it.each(FLAGS.filter(({ key }) => emptyByDefault(key)))(
    'the container of the $app does not get --$flag if its value is empty',
    ({ app, flag }) => {
      const args = sidecar(defaults, app).args ?? []
      expect(args.filter((argument) => argument.startsWith(`--${flag}=`))).toEqual([])
    },
  )

  const defaults = render({ values: base })
  function emptyByDefault(key: FlagKey): boolean {
    const defaults = readValues(VALUES_FILE)
    const apps = APPS.filter((app) => keysOf(app).includes(key))
    return key.key !== 'logLevel' && apps.every((app) => isEmpty(get(defaults, pathOf(key, app))))
  }

  it('the attacher gets no flag of the resizer, and the resizer gets no flag of the attacher', () => {
    expect(sidecar(defaults, 'attacher').args?.join(' ')).not.toContain('--workers')
    expect(sidecar(defaults, 'resizer').args?.join(' ')).not.toContain('--worker-threads')
  })

  it('additionalArgs of a sidecar are the last arguments of its container', () => {
    const { args } = sidecar(
      render({ values: merged(base, at('attacher.additionalArgs', ['-timeout=1h', '--v=9'])) }),
      'attacher',
    )
    expect(args?.slice(-2)).toEqual(['-timeout=1h', '--v=9'])
  })

  it('--v is the log level of the sidecar, or the common verbosity if the sidecar has none', () => {
    const values = merged(base, { logging: { verbosity: 3 }, attacher: { logLevel: 6 } })
    const objects = render({ values })
    expect(sidecar(objects, 'attacher').args).toContain('--v=6')
    expect(sidecar(objects, 'resizer').args).toContain('--v=3')
  })

  it('a sidecar serves HTTP only if it has probes or metrics', () => {
    const off = { livenessProbe: { enabled: false }, readinessProbe: { enabled: false } }
    const container = sidecar(render({ values: merged(base, { attacher: off }) }), 'attacher')
    expect(container.args?.filter((argument) => /http-endpoint|metrics/.test(argument))).toEqual([])
    expect(container.ports).toBeUndefined()
    expect(sidecar(defaults, 'attacher').args).toContain('--http-endpoint=:8081')
  })

  // one-process.test.ts parses the arguments of these examples, because they run all sidecars in one process.
  const ONE_PROCESS = ['block-driver', 'node-local', 'one-process']
  describe.each(EXAMPLES.filter((example) => !ONE_PROCESS.includes(example)))('examples/%s.yaml', (example) => {
    const containers = podSpecs(render({ files: [exampleFile(example)] })).flatMap((pod) => pod.containers)
    const sidecars = APPS.flatMap((app) => {
      const container = containers.find(({ name }) => name === `csi-${app}`)
      return container === undefined ? [] : [{ app, args: container.args ?? [] }]
    })

    it.each(sidecars)('the $app accepts its rendered arguments', ({ app, args }) => {
      const parsed = parseFlags(FLAG_TABLES[app], args)
      if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
      const standard = parsed.flags as unknown as StandardFlags
      expect(loggingError(standard.values)).toBeUndefined()
      expect(leaseTimingError(standard.values)).toBeUndefined()
      expect(resolveGates(GATES[app], standard.values['feature-gates']).kind).toBe('gates')
      expect(args.filter((argument) => !argument.startsWith('-'))).toEqual([])
    })
  })
})

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (typeof value === 'object' && Object.keys(value ?? {}).length === 0)
}

it('each key in the values of a sidecar sets only one flag', () => {
  const keys = FLAGS.map(({ app, key }) => `${app} ${pathOf(key, app)}`)
  expect(new Set(keys).size).toBe(keys.length)
})

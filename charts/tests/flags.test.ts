import { readFileSync } from 'node:fs'
import { leaseTimingError, loggingError, parseFlags, resolveGates, type StandardFlags } from '@csi-sidecars/sidecar'
import { describe, expect, it } from '@jest/globals'
import {
  APPS,
  type AppName,
  FLAG_TABLES,
  FLAG_VALUES,
  type FlagValue,
  GATES,
  NOT_IN_VALUES,
  valueKey,
} from './flag-values.ts'
import { EXAMPLES, exampleFile, render } from './helm.ts'
import { podSpecs, sidecar } from './manifest.ts'
import { at, get, merged, readValues, VALUES_FILE, type Values } from './values.ts'
import { withHelm } from './with-helm.ts'

const FLAGS = APPS.flatMap((app) => Object.entries(FLAG_VALUES[app]).map(([flag, value]) => ({ app, flag, value })))

describe.each(APPS)('values of the %s', (app) => {
  it('reach every flag of its table', () => {
    const reached = [...Object.keys(FLAG_VALUES[app]), ...Object.keys(NOT_IN_VALUES)]
    expect(reached.sort()).toEqual(FLAG_TABLES[app].map(({ name }) => name).sort())
  })

  it('say above each key which flag it is', () => {
    const text = readFileSync(VALUES_FILE, 'utf8')
    for (const [flag, { key }] of Object.entries(FLAG_VALUES[app])) {
      const [group = '', ...rest] = key.replace('APP', app).split('.')
      const section = text.split(/\n(?=[a-zA-Z])/).findLast((part) => part.startsWith(`${group}:`)) ?? ''
      const above =
        section === '' ? '' : `${text.slice(0, text.indexOf(section)).split('\n').slice(-3).join('\n')}\n${section}`
      // The comment may be about the next two or three lines together.
      const comment = new RegExp(`--${flag}(?![a-z-])(?:[^\\n]*\\n){1,3}\\s*${rest.at(-1)}:`)
      expect([flag, comment.test(above)]).toEqual([flag, true])
    }
  })

  it('name the flags that have no key', () => {
    const text = readFileSync(VALUES_FILE, 'utf8').replace(/\n\s*# /g, ' ')
    expect(Object.keys(NOT_IN_VALUES).filter((flag) => !mentions(text, flag))).toEqual([])
  })
})

/** `--log-*-split-stream` stands for two. */
function mentions(text: string, flag: string): boolean {
  return text.includes(`--${flag}`) || text.includes(`--${flag.replace(/-(json|text)-/, '-*-')}`)
}

withHelm('rendered arguments', () => {
  const base = readValues(exampleFile('driver'))
  /** What flags about files are rendered with. */
  const files = { tls: { secretName: 'endpoint', clientCA: { configMapName: 'clients' } } }
  /** --timeout would silence the resizer's other two; a certificate is either from files or self-signed. */
  const isAlone = (app: AppName, flag: string): boolean =>
    flag === 'tls-self-signed' || (app === 'resizer' && flag === 'timeout')
  const everyFlag = (app: AppName): Values =>
    Object.entries(FLAG_VALUES[app])
      .filter(([flag]) => flag === 'tls-self-signed' || !isAlone(app, flag))
      .reduce((values, [, { key, value }]) => merged(values, at(key.replace('APP', app), value)), merged(base, files))
  const rendered = new Map(APPS.map((app) => [app, sidecar(render({ values: everyFlag(app) }), app).args ?? []]))
  const alone = (app: AppName, { key, value }: FlagValue): readonly string[] =>
    sidecar(render({ values: merged(base, at(key.replace('APP', app), value)) }), app).args ?? []

  it.each(FLAGS)('have --$flag of the $app where its key is set', ({ app, flag, value }) => {
    const args = isAlone(app, flag) ? alone(app, value) : (rendered.get(app) ?? [])
    expect(args.filter((argument) => argument.startsWith(`--${flag}=`))).toEqual([`--${flag}=${value.text}`])
  })

  it.each(FLAGS.filter(({ value }) => emptyByDefault(value)))(
    'have no --$flag of the $app where its key is empty',
    ({ app, flag }) => {
      const args = sidecar(defaults, app).args ?? []
      expect(args.filter((argument) => argument.startsWith(`--${flag}=`))).toEqual([])
    },
  )

  const defaults = render({ values: base })
  function emptyByDefault({ key }: FlagValue): boolean {
    return APPS.every((app) => isEmpty(get(readValues(VALUES_FILE), key.replace('APP', app)))) && key !== 'APP.logLevel'
  }

  it('keep each sidecar from the flags of the other', () => {
    expect(sidecar(defaults, 'attacher').args?.join(' ')).not.toContain('--workers')
    expect(sidecar(defaults, 'resizer').args?.join(' ')).not.toContain('--worker-threads')
  })

  it('end with what the user adds', () => {
    const { args } = sidecar(
      render({ values: merged(base, at('attacher.additionalArgs', ['-timeout=1h', '--v=9'])) }),
      'attacher',
    )
    expect(args?.slice(-2)).toEqual(['-timeout=1h', '--v=9'])
  })

  it('have the verbosity of the sidecar, else of all', () => {
    const values = merged(base, { logging: { verbosity: 3 }, attacher: { logLevel: 6 } })
    const objects = render({ values })
    expect(sidecar(objects, 'attacher').args).toContain('--v=6')
    expect(sidecar(objects, 'resizer').args).toContain('--v=3')
  })

  it('serve HTTP for probes alone, and not at all without them', () => {
    const off = { livenessProbe: { enabled: false }, readinessProbe: { enabled: false } }
    const container = sidecar(render({ values: merged(base, { attacher: off }) }), 'attacher')
    expect(container.args?.filter((argument) => /http-endpoint|metrics/.test(argument))).toEqual([])
    expect(container.ports).toBeUndefined()
    expect(sidecar(defaults, 'attacher').args).toContain('--http-endpoint=:8081')
  })

  describe.each(EXAMPLES)('of examples/%s.yaml', (example) => {
    const containers = podSpecs(render({ files: [exampleFile(example)] })).flatMap((pod) => pod.containers)
    const sidecars = APPS.flatMap((app) => {
      const container = containers.find(({ name }) => name === `csi-${app}`)
      return container === undefined ? [] : [{ app, args: container.args ?? [] }]
    })

    it.each(sidecars)('start the $app', ({ app, args }) => {
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

it('every key is set by one flag only', () => {
  const keys = APPS.flatMap((app) => Object.keys(FLAG_VALUES[app]).map((flag) => `${app} ${valueKey(app, flag)}`))
  expect(new Set(keys).size).toBe(keys.length)
})

import { describe, expect, test } from '@jest/globals'
import { type CombinedFlags, type FlaggedApp, parseCombined } from './combined-flags.ts'

const LEFT: FlaggedApp = {
  prefix: 'left',
  flags: [
    { name: 'threads', aliases: ['hands'], type: 'int', default: 10, help: '' },
    { name: 'timeout', type: 'duration', default: 15_000, help: '' },
    { name: 'alone', aliases: ['single'], type: 'bool', default: false, help: '' },
  ],
  gates: { sidecarGates: { Lefty: { stage: 'beta', default: true } }, permanent: {} },
}
const RIGHT: FlaggedApp = {
  prefix: 'right',
  flags: [
    { name: 'hands', aliases: ['threads'], type: 'int', default: 5, help: '' },
    { name: 'timeout', type: 'duration', default: 10_000, help: '' },
  ],
  gates: { sidecarGates: { Both: { stage: 'beta', default: true } }, permanent: { Old: true } },
}

const read = (line: string): CombinedFlags<FlaggedApp> =>
  parseCombined({ byDefault: [LEFT, RIGHT] }, line === '' ? [] : line.split(' '))

function flags(line: string): CombinedFlags<FlaggedApp> & { kind: 'flags' } {
  const parsed = read(line)
  if (parsed.kind !== 'flags') throw new Error(`${line}: ${JSON.stringify(parsed)}`)
  return parsed
}

describe('a value', () => {
  test.each<[line: string, flag: string, left: unknown, right: unknown]>([
    ['', 'timeout', 15_000, 10_000],
    ['--timeout=1s', 'timeout', 1000, 1000],
    ['--timeout=1s --left-timeout=2s', 'timeout', 2000, 1000],
    ['--right-timeout=2s', 'timeout', 15_000, 2000],
    ['-v=3', 'v', 3, 3],
    ['--retry-interval-max=1m', 'retry-interval-max', 60_000, 60_000],
    ['--left-retry-interval-max=1m', 'retry-interval-max', 60_000, 300_000],
    ['--leader-election --right-leader-election=false', 'leader-election', true, false],
  ])('in a program of two apps, the command line %j sets %s to %j and %j', (line, flag, left, right) => {
    const { flagsOf } = flags(line)
    expect([flagsOf(LEFT).values[flag], flagsOf(RIGHT).values[flag]]).toEqual([left, right])
  })

  test('a flag without a prefix is recorded as set for each app that accepts it', () => {
    const { flagsOf } = flags('--timeout=1s --left-threads=2')
    expect([...flagsOf(LEFT).explicitFlags].sort()).toEqual(['threads', 'timeout'])
    expect([...flagsOf(RIGHT).explicitFlags]).toEqual(['timeout'])
  })
})

describe('one app', () => {
  test.each<[line: string, threads: number, hands: number]>([
    ['--threads=3', 3, 5],
    ['--hands=3', 10, 3],
    ['--left-hands=3', 3, 5],
    ['--right-threads=3', 10, 3],
  ])('the flag %s of a program applies only to the app that has it', (line, threads, hands) => {
    const { flagsOf } = flags(line)
    expect([flagsOf(LEFT).values['threads'], flagsOf(RIGHT).values['hands']]).toEqual([threads, hands])
  })

  test('a flag of one app keeps its alias if no other app has a flag of that name', () => {
    expect(flags('--single').flagsOf(LEFT).values['alone']).toBe(true)
    expect(flags('--controllers=left --hands=3').flagsOf(LEFT).values['threads']).toBe(3)
  })
})

describe('the controllers', () => {
  test.each([
    ['', ['left', 'right']],
    ['--controllers=right', ['right']],
    ['--controllers=right,left', ['left', 'right']],
  ])('the command line %j runs the controllers %j', (line, names) => {
    expect(flags(line).running.map(({ prefix }) => prefix)).toEqual(names)
  })

  test.each([
    ['--controllers=up', 'invalid value "up" for flag -controllers: "up" is none of left, right'],
    ['--controllers=', 'invalid value "" for flag -controllers: "" is none of left, right'],
    [
      '--controllers=left --right-timeout=1s',
      'flag -right-timeout is for controller right, which --controllers leaves out',
    ],
    ['--controllers=right --alone', 'flag -alone is for controller left, which --controllers leaves out'],
    ['--left-csi-address=/x', 'flag provided but not defined: -left-csi-address'],
    ['--timeout=x', 'invalid value "x" for flag -timeout: parse error'],
  ])('a program of several apps refuses the command line %s with an error', (line, error) => {
    expect(read(line)).toMatchObject({ kind: 'refused', error })
  })
})

describe('feature gates', () => {
  test.each<[line: string, left: object, right: object]>([
    ['--feature-gates=Lefty=false,Both=true,Old=true', { Lefty: false }, { Both: true, Old: true }],
    ['--feature-gates=Nobodys=true', { Nobodys: true }, {}],
    [
      '--feature-gates=AllBeta=false,AllAlpha=true',
      { AllBeta: false, AllAlpha: true },
      { AllBeta: false, AllAlpha: true },
    ],
    ['--feature-gates=Both=true --right-feature-gates=Both=false', {}, { Both: false }],
    ['--left-feature-gates=Both=true', { Both: true }, {}],
  ])('the command line %s sets the feature gates of each app of a program', (line, left, right) => {
    const { flagsOf } = flags(line)
    const gates = (app: FlaggedApp): unknown =>
      Object.fromEntries(flagsOf(app).values['feature-gates'] as ReadonlyMap<string, boolean>)
    expect([gates(LEFT), gates(RIGHT)]).toEqual([left, right])
  })
})

test('the flag -h requests the help', () => {
  expect(read('-h')).toEqual({ kind: 'help' })
})

describe('driver apps', () => {
  const ASKS: FlaggedApp = {
    prefix: 'asks',
    flags: [{ name: 'port', type: 'string', default: '9808', help: '' }],
    usedStandardFlags: { needsPrefix: new Set(['http-endpoint']), shared: new Set(['csi-address']) },
  }
  const parse = (line: string): CombinedFlags<FlaggedApp> =>
    parseCombined({ byDefault: [LEFT], onRequest: [ASKS] }, line.split(' '))
  const endpointOf = (line: string): unknown => {
    const parsed = parse(line)
    if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
    return parsed.flagsOf(ASKS).values['http-endpoint']
  }

  test('an app that calls only the driver runs only if --controllers names it', () => {
    expect(parse('-v=1')).toMatchObject({ running: [LEFT] })
    expect(parse('--controllers=asks')).toMatchObject({ running: [ASKS] })
  })

  test.each([
    ['--controllers=asks --http-endpoint=:1', ':1'],
    ['--controllers=asks --asks-http-endpoint=:1', ':1'],
    ['--controllers=left,asks --http-endpoint=:1', ''],
    ['--controllers=left,asks --http-endpoint=:1 --asks-http-endpoint=:2', ':2'],
  ])('the command line %s gives an app that asks only the driver the HTTP endpoint %j', (line, endpoint) => {
    expect(endpointOf(line)).toBe(endpoint)
  })

  test.each([
    ['--controllers=asks --kubeconfig=x', 'flag -kubeconfig has no effect with --controllers=asks'],
    ['--controllers=asks --leader-election', 'flag -leader-election has no effect with --controllers=asks'],
    ['--controllers=left --asks-port=1', 'flag -asks-port is for controller asks, which --controllers leaves out'],
  ])('a program with an app that asks only the driver refuses the command line %s', (line, error) => {
    expect(parse(line)).toEqual({ kind: 'refused', error })
  })

  test('a process accepts a standard flag if at least one of its apps accepts it', () => {
    expect(parse('--controllers=left,asks --kubeconfig=x').kind).toBe('flags')
  })
})

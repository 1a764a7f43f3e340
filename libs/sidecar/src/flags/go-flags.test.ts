import { Quantity } from '@csi-sidecars/kube-types'
import { describe, expect, test } from '@jest/globals'
import { type Flag, parseFlags } from './go-flags.ts'

const TABLE = [
  { name: 'b', type: 'bool', default: false, help: '' },
  { name: 'max', type: 'switch', default: false, help: '' },
  { name: 's', type: 'string', default: 'd', help: '' },
  { name: 'i', type: 'int', default: 1, help: '' },
  { name: 'u', type: 'uint', default: 10, help: '', aliases: ['uu'] },
  { name: 'f', type: 'float', default: 5, help: '' },
  { name: 'd', type: 'duration', default: 1000, help: '' },
  { name: 'v', type: 'level', default: 0, help: '' },
  { name: 'vmodule', type: 'vmodule', default: [], help: '' },
  { name: 'q', type: 'quantity', default: Quantity.parse('0'), help: '' },
  { name: 'gates', type: 'gates', default: new Map<string, boolean>(), help: '' },
  { name: 'labels', type: 'labels', default: new Map<string, string>(), help: '' },
  { name: 'on-loss', type: 'choice', choices: ['stay', 'exit'], default: 'stay', help: '' },
] as const satisfies readonly Flag[]

function values(...args: string[]) {
  const parsed = parseFlags(TABLE, args)
  if (parsed.kind !== 'flags') throw new Error(`not parsed: ${JSON.stringify(parsed)}`)
  return parsed.flags.values
}

describe('the forms of a flag', () => {
  test.each([['-s=x'], ['--s=x'], ['-s', 'x'], ['--s', 'x']])(
    'the parser accepts a string flag in the form %s %s',
    (...args: (string | undefined)[]) => {
      expect(values(...args.filter((arg) => arg !== undefined)).s).toBe('x')
    },
  )

  test.each([
    ['the value of a flag may contain =', ['--s=a=b'], 'a=b'],
    ['the value of a flag may be empty', ['--s='], ''],
    ['the value of a flag in a separate argument may look like a flag', ['--s', '--b'], '--b'],
    ['the last value of a repeated flag wins', ['-s=1', '--s', '2', '-s=3'], '3'],
    ['a flag that is not given has its default', [], 'd'],
  ])('%s', (_rule, args, expected) => {
    expect(values(...args).s).toBe(expected)
  })
})

describe('booleans', () => {
  test.each([
    [['--b'], true],
    [['--b=true'], true],
    [['--b=0'], false],
    [['--b', '--b=F'], false],
  ])('the command line %j sets the boolean flag to %s', (args, expected) => {
    expect(values(...args).b).toBe(expected)
  })

  test('a separate argument after a boolean flag ends the parsing of flags', () => {
    expect(values('--b', 'false', '--s=x')).toMatchObject({ b: true, s: 'd' })
  })
})

describe('the end of the flags', () => {
  test.each([[['word', '--s=x']], [['-', '--s=x']], [['--', '--s=x']], [['', '--s=x']]])(
    'the parser ignores the flag --s after the first argument of %j',
    (args) => {
      expect(values(...args).s).toBe('d')
    },
  )
})

describe('values', () => {
  test('the parser converts the values of each type of flag', () => {
    const args =
      '--i=-3 --u=0x10 --f=1e3 --d=1m30s --v=5 --vmodule=a=1,,b*=2 --gates=A=true, --labels=k:v --on-loss=exit'
    expect(values(...args.split(' '))).toMatchObject({
      i: -3,
      u: 16,
      f: 1000,
      d: 90_000,
      v: 5,
      vmodule: [
        { pattern: 'a', level: 1 },
        { pattern: 'b*', level: 2 },
      ],
      gates: new Map([['A', true]]),
      labels: new Map([['k', 'v']]),
      'on-loss': 'exit',
    })
    expect(values('--q=1Ki').q.toString()).toBe('1Ki')
  })

  test('a repeated flag merges its values if they are maps or lists of rules', () => {
    const merged = values(
      '--gates=A=1,B=1',
      '--gates= B =0',
      '--labels=a:1',
      '--labels=a:2,b:',
      '--vmodule=a=1',
      '--vmodule=b=2',
    )
    expect(Object.fromEntries(merged.gates)).toEqual({ A: true, B: false })
    expect(Object.fromEntries(merged.labels)).toEqual({ a: '2', b: '' })
    expect(merged.vmodule).toHaveLength(2)
  })

  test('a second parse of flags does not keep the map values of the first parse', () => {
    values('--gates=A=1', '--labels=a:1')
    expect(values().gates.size + values().labels.size).toBe(0)
  })

  test('a flag and its alias set the same value, and the last one on the command line wins', () => {
    expect(values('--u=1', '--uu=2').u).toBe(2)
    expect(values('--uu=2', '--u=1').u).toBe(1)
  })
})

test('a flag on the command line is recorded as set, even with its default value', () => {
  const parsed = parseFlags(TABLE, ['--s=d', '--uu=10'])
  expect(parsed.kind === 'flags' && [...parsed.flags.explicitFlags]).toEqual(['s', 'u'])
})

test.each([['-h'], ['-help'], ['--help'], ['--h'], ['--help=1'], ['--s=x', '-h']])(
  'the argument %s requests the help',
  (...args) => {
    expect(parseFlags(TABLE, args)).toEqual({ kind: 'help' })
  },
)

describe('errors', () => {
  const QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

  test.each<[string, string]>([
    ['--x', 'flag provided but not defined: -x'],
    ['-v5', 'flag provided but not defined: -v5'],
    ['--x=1', 'flag provided but not defined: -x'],
    ['---s', 'bad flag syntax: ---s'],
    ['--=x', 'bad flag syntax: --=x'],
    ['-=x', 'bad flag syntax: -=x'],
    ['--s', 'flag needs an argument: -s'],
    ['--i=a', 'invalid value "a" for flag -i: parse error'],
    ['--i=', 'invalid value "" for flag -i: parse error'],
    ['--i=99999999999999999999', 'invalid value "99999999999999999999" for flag -i: value out of range'],
    ['--u=-1', 'invalid value "-1" for flag -u: parse error'],
    ['--uu=-1', 'invalid value "-1" for flag -uu: parse error'],
    ['--f=a', 'invalid value "a" for flag -f: parse error'],
    ['--f=1e400', 'invalid value "1e400" for flag -f: value out of range'],
    ['--d=60', 'invalid value "60" for flag -d: parse error'],
    ['--b=yes', 'invalid boolean value "yes" for -b: parse error'],
    ['--max=yes', 'invalid boolean value "yes" for -max: strconv.ParseBool: parsing "yes": invalid syntax'],
    ['--v=-1', 'invalid value "-1" for flag -v: strconv.ParseUint: parsing "-1": invalid syntax'],
    [
      '--v=2147483648',
      'invalid value "2147483648" for flag -v: strconv.ParseUint: parsing "2147483648": value out of range',
    ],
    ['--vmodule=foo', 'invalid value "foo" for flag -vmodule: "foo" does not have the pattern=N format'],
    ['--vmodule==1', 'invalid value "=1" for flag -vmodule: "=1" does not have the pattern=N format'],
    [
      '--vmodule=a=x',
      'invalid value "a=x" for flag -vmodule: parsing verbosity in "a=x": strconv.ParseUint: parsing "x": invalid syntax',
    ],
    ['--q=x', `invalid value "x" for flag -q: ${QUANTITY}`],
    ['--q=', `invalid value "" for flag -q: ${QUANTITY}`],
    ['--gates=A', 'invalid value "A" for flag -gates: malformed pair, expect string=bool'],
    [
      '--gates=K=maybe',
      'invalid value "K=maybe" for flag -gates: invalid value of K: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    ['--labels=a=b', 'invalid value "a=b" for flag -labels: malformed item in list of labels: a=b'],
    ['--labels=', 'invalid value "" for flag -labels: malformed item in list of labels: '],
    ['--labels=a:b:c', 'invalid value "a:b:c" for flag -labels: malformed item in list of labels: a:b:c'],
    ['--on-loss=go', 'invalid value "go" for flag -on-loss: must be stay or exit'],
    ['--s\u00e9="\n"', 'flag provided but not defined: -s\u00e9'],
    ['--i="\n"', 'invalid value "\\"\\n\\"" for flag -i: parse error'],
  ])('the command line %j causes the error: %s', (argument, error) => {
    expect(parseFlags(TABLE, [argument])).toMatchObject({ kind: 'refused', error })
  })

  test('the parser of flags reports only the first error on a command line', () => {
    expect(parseFlags(TABLE, ['--i=a', '--x'])).toMatchObject({ error: 'invalid value "a" for flag -i: parse error' })
  })
})

import { describe, expect, it } from '@jest/globals'
import type { Flag } from './go-flags.ts'
import { parsePFlags } from './pflag.ts'

const TABLE = [
  { name: 'csi-address', type: 'string', default: '/run/csi/socket', help: '' },
  { name: 'timeout', type: 'duration', default: 10_000, help: '' },
  { name: 'leader-election', aliases: ['enable-leader-election'], type: 'bool', default: false, help: '' },
  { name: 'feature-gates', type: 'gates', default: new Map<string, boolean>(), help: '' },
  { name: 'count', type: 'uint', default: 1, help: '' },
  { name: 'leader-election-lease-duration', type: 'duration', default: 15_000, help: '' },
  { name: 'retry-interval-max', type: 'duration', default: 300_000, help: '' },
  { name: 'log-json-split-stream', type: 'bool', default: false, help: '' },
  { name: 'v', type: 'level', default: 0, help: '' },
] as const satisfies readonly Flag[]

const parse = (line: string) => parsePFlags(TABLE, line === '' ? [] : line.split(' '))

describe('parsePFlags', () => {
  it.each([
    ['', {}],
    ['--csi-address=/a', { 'csi-address': '/a' }],
    ['--csi-address /a', { 'csi-address': '/a' }],
    ['--csi-address=', { 'csi-address': '' }],
    ['--csi-address --v', { 'csi-address': '--v' }],
    ['word --v=3 - other', { v: 3 }],
    ['--v=3 -- --v=4', { v: 3 }],
    ['-v5', { v: 5 }],
    ['-v 5', { v: 5 }],
    ['-v=5', { v: 5 }],
    ['--v 5 --v=6', { v: 6 }],
    ['--leader-election false', { 'leader-election': true }],
    ['--leader-election=false', { 'leader-election': false }],
    ['--enable-leader-election', { 'leader-election': true }],
    ['--timeout 1m5s', { timeout: 65_000 }],
  ])('`parsePFlags` reads %j', (line, expected) => {
    const parsed = parse(line)
    if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
    expect(parsed.flags.values).toMatchObject(expected)
  })

  it.each([
    ['-csi-address=/a', "unknown shorthand flag: 'c' in -csi-address=/a"],
    ['--nothing', 'unknown flag: --nothing'],
    ['--nothing=1', 'unknown flag: --nothing'],
    ['---v', 'bad flag syntax: ---v'],
    ['--=v', 'bad flag syntax: --=v'],
    ['--csi-address', 'flag needs an argument: --csi-address'],
    ['-v', "flag needs an argument: 'v' in -v"],
    ['-vx', 'invalid argument "x" for "-v, --v" flag: strconv.ParseUint: parsing "x": invalid syntax'],
    ['--timeout=10', 'invalid argument "10" for "--timeout" flag: time: missing unit in duration "10"'],
    ['--timeout=5q', 'invalid argument "5q" for "--timeout" flag: time: unknown unit "q" in duration "5q"'],
    ['--timeout=1.5.2s', 'invalid argument "1.5.2s" for "--timeout" flag: time: missing unit in duration "1.5.2s"'],
    ['--timeout=-', 'invalid argument "-" for "--timeout" flag: time: invalid duration "-"'],
    ['--timeout=', 'invalid argument "" for "--timeout" flag: time: invalid duration ""'],
    ['--count=-1', 'invalid argument "-1" for "--count" flag: strconv.ParseUint: parsing "-1": invalid syntax'],
    ['--count=x', 'invalid argument "x" for "--count" flag: strconv.ParseUint: parsing "x": invalid syntax'],
    [
      '--leader-election-lease-duration=5',
      'invalid argument "5" for "--leader-election-lease-duration" flag: parse error',
    ],
    [
      '--retry-interval-max=5',
      'invalid argument "5" for "--retry-interval-max" flag: time: missing unit in duration "5"',
    ],
    [
      '--log-json-split-stream=x',
      'invalid argument "x" for "--log-json-split-stream" flag: strconv.ParseBool: parsing "x": invalid syntax',
    ],
    ['--leader-election=yes', 'invalid argument "yes" for "--leader-election" flag: parse error'],
    ['--feature-gates=A', 'invalid argument "A" for "--feature-gates" flag: malformed pair, expect string=bool'],
  ])('`parsePFlags` refuses %j', (line, error) => {
    expect(parse(line)).toMatchObject({ kind: 'refused', error })
  })

  it.each(['--help', '-h', '--v=3 --help'])('the pflag parser requests the usage for %j', (line) => {
    expect(parse(line)).toEqual({ kind: 'help' })
  })

  it('an alias on the command line marks the alias and its flag as given', () => {
    const parsed = parse('--enable-leader-election -v=1')
    if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
    expect([...parsed.flags.explicitFlags]).toEqual(['leader-election', 'enable-leader-election', 'v'])
  })

  it('the error of the pflag parser for an unknown flag suggests the nearest flag', () => {
    expect(parse('--csi-adress=/a')).toMatchObject({ nearest: 'csi-address' })
  })
})

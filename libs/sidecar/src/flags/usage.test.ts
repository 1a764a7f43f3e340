import { expect, test } from '@jest/globals'
import type { FlagTable } from './go-flags.ts'
import { usageText } from './usage.ts'

test('the usage of a program has the layout of Go, with the flags in byte order', () => {
  const table: FlagTable = [
    { name: 'v', type: 'level', default: 0, help: 'Verbosity.' },
    { name: 'workers', type: 'int', default: 10, help: 'How many.', aliases: ['threads'] },
    { name: 'b', type: 'bool', default: false, help: 'Switch.' },
    { name: 'inuse', type: 'bool', default: true, help: 'On.' },
    { name: 'address', type: 'string', default: '', help: 'Where to listen (example: `:8080`).' },
    { name: 'format', type: 'string', default: 'text', help: 'Two\nlines.' },
    { name: 'qps', type: 'float', default: 5, help: 'Rate.' },
    { name: 'A', type: 'duration', default: 600_000, help: 'Upper case first.' },
    { name: 'gates', type: 'gates', default: new Map(), help: 'Gates.' },
  ]
  expect(usageText('./csi-attacher', table)).toBe(`Usage of ./csi-attacher:
  -A duration
    \tUpper case first. (default 10m0s)
  -address :8080
    \tWhere to listen (example: :8080).
  -b\tSwitch.
  -format string
    \tTwo
    \tlines. (default "text")
  -gates value
    \tGates.
  -inuse
    \tOn. (default true)
  -qps float
    \tRate. (default 5)
  -threads int
    \tSame as --workers. (default 10)
  -v value
    \tVerbosity.
  -workers int
    \tHow many. (default 10)
`)
})

test('the usage shows the notes about a flag as further lines of its help', () => {
  const table: FlagTable = [{ name: 'gates', type: 'gates', default: new Map(), help: 'Gates:' }]
  expect(usageText('x', table, { notes: { gates: 'A=true|false\nB=true|false', other: 'unused' } })).toBe(
    'Usage of x:\n  -gates value\n    \tGates:\n    \tA=true|false\n    \tB=true|false\n',
  )
})

test('the usage shows two dashes before a flag if the parser refuses one dash', () => {
  const table: FlagTable = [{ name: 'qps', type: 'float', default: 5, help: 'Rate.', aliases: ['rate'] }]
  expect(usageText('x', table, { dashes: '--' })).toBe(
    'Usage of x:\n  --qps float\n    \tRate. (default 5)\n  --rate float\n    \tSame as --qps. (default 5)\n',
  )
})

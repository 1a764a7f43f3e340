import { expect, test } from '@jest/globals'
import {
  goDuration,
  parseGoBool,
  parseGoDuration,
  parseGoFloat,
  parseGoInt,
  parseGoLevel,
  parseGoUint,
} from './go-values.ts'

type Row = readonly [text: string, value: number | 'parse error' | 'value out of range']

function outcome(parse: (text: string) => number | boolean, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    return (error as Error).message
  }
}

const INTEGERS: readonly Row[] = [
  ['0', 0],
  ['10', 10],
  ['007', 7],
  ['010', 8],
  ['0x1F', 31],
  ['0o17', 15],
  ['0b101', 5],
  ['1_000', 1000],
  ['0_7', 7],
  ['0x_f', 15],
  ['', 'parse error'],
  ['a', 'parse error'],
  ['08', 'parse error'],
  ['0b2', 'parse error'],
  ['0x', 'parse error'],
  ['0x_', 'parse error'],
  ['_1', 'parse error'],
  ['1_', 'parse error'],
  ['1__0', 'parse error'],
  ['1.0', 'parse error'],
  [' 1', 'parse error'],
  ['99999999999999999999', 'value out of range'],
  ['99999999999999999999a', 'value out of range'],
]

test.each([
  ...INTEGERS,
  ['-5', -5],
  ['+5', 5],
  ['-0x10', -16],
  ['-', 'parse error'],
  ['9223372036854775807', 2 ** 63],
  ['9223372036854775808', 'value out of range'],
  ['-9223372036854775808', -(2 ** 63)],
  ['-9223372036854775809', 'value out of range'],
] satisfies Row[])('the parser of Go values reads the int %j as %s', (text, expected) => {
  expect(outcome(parseGoInt, text)).toBe(expected)
})

test.each([
  ...INTEGERS,
  ['-1', 'parse error'],
  ['+1', 'parse error'],
  ['18446744073709551615', 2 ** 64],
  ['18446744073709551616', 'value out of range'],
] satisfies Row[])('the parser of Go values reads the uint %j as %s', (text, expected) => {
  expect(outcome(parseGoUint, text)).toBe(expected)
})

test.each<Row>([
  ['0', 0],
  ['2147483647', 2147483647],
  ['2147483648', 'value out of range'],
  ['99999999999x', 'value out of range'],
  ['-1', 'parse error'],
  ['0x1', 'parse error'],
  ['1_0', 'parse error'],
  ['', 'parse error'],
])('the parser of Go values reads the level %j as %s', (text, expected) => {
  expect(outcome(parseGoLevel, text)).toBe(expected)
})

test.each<Row>([
  ['5', 5],
  ['5.0', 5],
  ['.5', 0.5],
  ['5.', 5],
  ['1e3', 1000],
  ['-1E-3', -0.001],
  ['1_000.5', 1000.5],
  ['0x1p-2', 0.25],
  ['0x.8p1', 1],
  ['0X1.8P+1', 3],
  ['0x1_0p0', 16],
  ['0x1p-1074', 5e-324],
  ['0x1p-1080', 0],
  ['inf', Number.POSITIVE_INFINITY],
  ['+Infinity', Number.POSITIVE_INFINITY],
  ['-INF', Number.NEGATIVE_INFINITY],
  ['NaN', Number.NaN],
  ['+nan', 'parse error'],
  ['', 'parse error'],
  ['a', 'parse error'],
  ['.', 'parse error'],
  ['1_', 'parse error'],
  ['1._5', 'parse error'],
  ['0x1', 'parse error'],
  ['0xp1', 'parse error'],
  ['infinit', 'parse error'],
  ['1e400', 'value out of range'],
  ['0x1p1024', 'value out of range'],
])('the parser of Go values reads the float %j as %s', (text, expected) => {
  expect(outcome(parseGoFloat, text)).toBe(expected)
})

test.each<Row>([
  ['0', 0],
  ['-0', 0],
  ['15s', 15_000],
  ['1h15m30.5s', 4_530_500],
  ['-5ms', -5],
  ['+.5s', 500],
  ['1.s', 1000],
  ['1us', 0.001],
  ['1\u00b5s', 0.001],
  ['1\u03bcs', 0.001],
  ['1ns', 0.000001],
  ['1s1s', 2000],
  ['60', 'parse error'],
  ['', 'parse error'],
  ['-', 'parse error'],
  ['1d', 'parse error'],
  ['1M', 'parse error'],
  ['1 s', 'parse error'],
  ['.s', 'parse error'],
  ['s', 'parse error'],
  ['--1s', 'parse error'],
  ['2562047h47m16.854775808s', 'parse error'],
])('the parser of Go values reads the duration %j as %s ms', (text, expected) => {
  expect(outcome(parseGoDuration, text)).toBe(expected)
})

test.each([
  [0, '0s'],
  [0.000001, '1ns'],
  [0.0015, '1.5\u00b5s'],
  [1.5, '1.5ms'],
  [15_000, '15s'],
  [60_000, '1m0s'],
  [600_000, '10m0s'],
  [3_600_500, '1h0m0.5s'],
  [-90_000, '-1m30s'],
])('the text of %d ms as a Go duration is %s', (ms, text) => {
  expect(goDuration(ms)).toBe(text)
})

test.each(['1', 't', 'T', 'TRUE', 'true', 'True'])('the parser of Go values reads the bool %s as true', (text) => {
  expect(parseGoBool(text)).toBe(true)
})

test.each(['0', 'f', 'F', 'FALSE', 'false', 'False'])('the parser of Go values reads the bool %s as false', (text) => {
  expect(parseGoBool(text)).toBe(false)
})

test.each(['', 'yes', 'tRUE', 'on', 'constructor'])('the parser of Go values refuses the bool %j', (text) => {
  expect(outcome(parseGoBool, text)).toBe('parse error')
})

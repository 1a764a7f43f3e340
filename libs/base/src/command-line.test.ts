import { expect, it } from '@jest/globals'
import { answeredOrValues, refuseRepeated, throwRefusal } from './command-line.ts'

/** Answers with these texts, then has the values. */
const parser = (...outputs: string[]) => ({
  parse: async (args: readonly string[], _context: object, callback: (e: unknown, a: unknown, o: string) => void) => {
    for (const output of outputs) callback(undefined, {}, output)
    return args
  },
})

it('a command line has values, unless the parser has answered it', async () => {
  const written: string[] = []
  const write = (text: string): number => written.push(text)
  expect(await answeredOrValues(parser(), ['a'], write)).toEqual(['a'])
  expect(await answeredOrValues(parser(''), ['b'], write)).toEqual(['b'])
  expect(written).toEqual([])
  expect(await answeredOrValues(parser('help'), ['--help'], write)).toBe('answered')
  expect(written).toEqual(['help\n'])
})

it('a refusal is the error there is, else its message', () => {
  expect(() => throwRefusal('words', undefined)).toThrow('words')
  expect(() => throwRefusal('words', new Error('cause'))).toThrow('cause')
})

it('a flag of one value is given once', () => {
  const values = { _: [], node: ['a', 'b'], driver: 'c', again: ['d', 'e'] }
  expect(() => refuseRepeated(values, ['driver', 'absent'])).not.toThrow()
  expect(() => refuseRepeated(values, ['driver', 'again'])).toThrow('--again is given more than once')
})

import { expect, it } from '@jest/globals'
import { answeredOrValues, refuseRepeated, throwRefusal } from './command-line.ts'

/** Returns a fake parser that passes the texts to its callback and returns its arguments as parsed values. */
const parser = (...outputs: string[]) => ({
  parse: async (args: readonly string[], _context: object, callback: (e: unknown, a: unknown, o: string) => void) => {
    for (const output of outputs) callback(undefined, {}, output)
    return args
  },
})

it('the command line parser returns the values, or `answered` after it has printed a text', async () => {
  const written: string[] = []
  const write = (text: string): number => written.push(text)
  expect(await answeredOrValues(parser(), ['a'], write)).toEqual(['a'])
  expect(await answeredOrValues(parser(''), ['b'], write)).toEqual(['b'])
  expect(written).toEqual([])
  expect(await answeredOrValues(parser('help'), ['--help'], write)).toBe('answered')
  expect(written).toEqual(['help\n'])
})

it("a refused command line throws the parser's error, or the parser's message as an error", () => {
  expect(() => throwRefusal('words', undefined)).toThrow('words')
  expect(() => throwRefusal('words', new Error('cause'))).toThrow('cause')
})

it('a command line is refused if it repeats a flag that takes only one value', () => {
  const values = { _: [], node: ['a', 'b'], driver: 'c', again: ['d', 'e'] }
  expect(() => refuseRepeated(values, ['driver', 'absent'])).not.toThrow()
  expect(() => refuseRepeated(values, ['driver', 'again'])).toThrow('--again is given more than once')
})

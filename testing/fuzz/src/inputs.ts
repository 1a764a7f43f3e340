import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import type { BytesReader } from './reader.ts'

const FOLDER = resolve(import.meta.dirname, '../corpus')
/** The longest input in bytes. It is long enough to find parsers with quadratic run time. */
const MAX_BYTES = 8_192
const MAX_EDITS = 5
const MAX_REPEATS = 200

/** Returns the seeds and the corpus of a parser. Each line of a corpus is a JSON string whose characters are bytes. */
export function knownInputs({ name, seeds }: BytesReader): readonly Buffer[] {
  const lines = readFileSync(resolve(FOLDER, `${name}.jsonl`), 'utf8').split('\n')
  const corpus = lines.filter((line) => line !== '').map((line) => Buffer.from(String(JSON.parse(line)), 'latin1'))
  return [...seeds.map((seed) => Buffer.from(seed)), ...corpus]
}

/** Formats an input as a line of the corpus. */
export function lineOf(input: Buffer): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(input.toString('latin1')).replace(/[\x7f-\xff]/g, escaped)
}

interface Edit {
  readonly at: number
  /** The number of bytes to remove. `run` removes the whole number or name that follows. */
  readonly removedBytes: number | 'run'
  readonly inserted: Buffer
  readonly times: number
}

/** Generates known inputs with edits. Each edit replaces bytes by other bytes, a keyword or a part of another input. */
export function editedInputs(reader: BytesReader): fc.Arbitrary<Buffer> {
  const knownInput = fc.constantFrom(...knownInputs(reader))
  const keywords = fc.constantFrom(...reader.keywords.map((word) => Buffer.from(word)))
  const bytes = fc.uint8Array({ maxLength: 4 }).map((array) => Buffer.from(array))
  const part = fc.tuple(knownInput, fc.nat(MAX_BYTES)).map(([other, from]) => other.subarray(from % (other.length + 1)))
  const edit: fc.Arbitrary<Edit> = fc.record({
    at: fc.nat(MAX_BYTES),
    removedBytes: fc.oneof(
      { weight: 4, arbitrary: fc.nat(4) },
      { weight: 1, arbitrary: fc.nat(64) },
      { weight: 3, arbitrary: fc.constant('run' as const) },
    ),
    inserted: fc.oneof(
      { weight: 3, arbitrary: keywords },
      { weight: 2, arbitrary: bytes },
      { weight: 1, arbitrary: part },
    ),
    times: fc.oneof({ weight: 15, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(MAX_REPEATS) }),
  })
  return fc
    .tuple(knownInput, fc.array(edit, { maxLength: MAX_EDITS }))
    .map(([input, edits]) => edits.reduce(edited, input))
}

function edited(input: Buffer, { at, removedBytes, inserted, times }: Edit): Buffer {
  const place = at % (input.length + 1)
  const [from, to] = removedBytes === 'run' ? runAfter(input, place) : [place, place + removedBytes]
  const insertions = Array.from({ length: times }, () => inserted)
  return Buffer.concat([input.subarray(0, from), ...insertions, input.subarray(to)]).subarray(0, MAX_BYTES)
}

function runAfter(input: Buffer, place: number): readonly [from: number, to: number] {
  const run = /[0-9]+|[A-Za-z]+/.exec(input.toString('latin1', place))
  if (run === null) return [place, place]
  return [place + run.index, place + run.index + run[0].length]
}

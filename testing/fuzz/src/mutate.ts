import type { Random } from './random.ts'

/** Readers that are not linear show it with less; longer ones are only slower. */
const LONGEST = 8_192
const MOST_CHANGES = 5
const NOTHING: Buffer = Buffer.alloc(0)
const ODD_BYTES = [0, 1, 9, 10, 13, 32, 34, 45, 46, 48, 57, 127, 128, 255]

export interface Material {
  readonly words: readonly Buffer[]
  /** Other inputs that have led somewhere. */
  readonly others: readonly Buffer[]
}

/** The input with a few changes. */
export function mutated(input: Buffer, material: Material, random: Random): Buffer {
  let bytes = input
  for (let left = 1 + random.below(MOST_CHANGES); left > 0; left -= 1) {
    const change = random.of(CHANGES, overwrite)
    bytes = change(bytes, material, random).subarray(0, LONGEST)
  }
  return bytes
}

type Change = (bytes: Buffer, material: Material, random: Random) => Buffer

const flip: Change = (bytes, _, random) => {
  const changed = Buffer.from(bytes)
  const at = random.below(bytes.length)
  if (at < bytes.length) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8))
  return changed
}

const overwrite: Change = (bytes, _, random) => {
  const changed = Buffer.from(bytes)
  const at = random.below(bytes.length)
  if (at < bytes.length) changed[at] = random.below(2) === 0 ? random.of(ODD_BYTES, 0) : random.below(256)
  return changed
}

const insertWord: Change = (bytes, { words }, random) =>
  spliced(bytes, { at: random.below(bytes.length + 1), inserted: random.of(words, NOTHING) })

const replaceByWord: Change = (bytes, { words }, random) => {
  const word = random.of(words, NOTHING)
  return spliced(bytes, { at: random.below(bytes.length + 1), removed: word.length, inserted: word })
}

/** A number or a name as a whole, so that what is around it stays what it is. */
const replaceRun: Change = (bytes, { words }, random) => {
  const runs = [...bytes.toString('latin1').matchAll(/[0-9]+|[A-Za-z]+/g)]
  const run = runs[random.below(runs.length)]
  return run === undefined
    ? bytes
    : spliced(bytes, { at: run.index, removed: run[0].length, inserted: random.of(words, NOTHING) })
}

const insertByte: Change = (bytes, _, random) =>
  spliced(bytes, { at: random.below(bytes.length + 1), inserted: Buffer.of(random.of(ODD_BYTES, 0)) })

const remove: Change = (bytes, _, random) =>
  spliced(bytes, { at: random.below(bytes.length + 1), removed: 1 + random.below(16) })

const repeat: Change = (bytes, _, random) => {
  const at = random.below(bytes.length)
  const part = bytes.subarray(at, at + 1 + random.below(32))
  const times = 1 + random.below(random.below(8) === 0 ? 200 : 4)
  return spliced(bytes, { at, inserted: Buffer.concat(Array.from({ length: times }, () => part)) })
}

const crossOver: Change = (bytes, { others }, random) => {
  const other = random.of(others, bytes)
  const head = bytes.subarray(0, random.below(bytes.length + 1))
  return Buffer.concat([head, other.subarray(random.below(other.length + 1))])
}

const countUp: Change = (bytes, _, random) => {
  const changed = Buffer.from(bytes)
  const at = random.below(bytes.length)
  if (at < bytes.length) changed[at] = ((changed[at] ?? 0) + (random.below(2) === 0 ? 1 : 255)) & 255
  return changed
}

const CHANGES: readonly Change[] = [
  flip,
  overwrite,
  countUp,
  insertWord,
  insertWord,
  replaceByWord,
  replaceRun,
  insertByte,
  remove,
  repeat,
  crossOver,
]

interface Splice {
  readonly at: number
  readonly removed?: number
  readonly inserted?: Buffer
}

function spliced(bytes: Buffer, { at, removed = 0, inserted = NOTHING }: Splice): Buffer {
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)])
}

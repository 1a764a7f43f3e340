import { type Clock, messageOf } from '@csi-sidecars/base'
import { Coverage } from './coverage.ts'
import { mutated } from './mutate.ts'
import type { Random } from './random.ts'
import type { Reader } from './reader.ts'

/** An input for which a reader does not keep its promises. */
export interface Finding {
  readonly input: Buffer
  readonly why: string
}

export interface FuzzResult {
  readonly runs: number
  /** Characters of code that have run. */
  readonly covered: number
  /** Inputs that have reached new code, in the order in which they were found. */
  readonly found: readonly Buffer[]
  readonly finding: Finding | undefined
}

export interface FuzzOptions {
  readonly corpus: readonly Buffer[]
  readonly ms: number
  readonly clock: Clock
  readonly random: Random
  /** Without it changes are tried on the corpus alone, whatever they reach: to see what following the coverage is worth. */
  readonly guided?: boolean
  /** Called before each input is read. */
  readonly onInput: (input: Buffer) => void
}

/** To take coverage costs as much as hundreds of inputs, so it is taken after ten times as long has been spent on them. */
const INPUTS_PER_COVERAGE = 10
const LARGEST_BATCH = 4_096

/** Feeds a reader until the time is over or a promise is broken. */
export function fuzz(reader: Reader, options: FuzzOptions): FuzzResult {
  const { corpus, ms, clock, random, guided = true } = options
  using coverage = new Coverage()
  const until = clock.monotonic() + ms
  const words = reader.words.map((word) => Buffer.from(word))
  const inputs = [...reader.seeds.map((seed) => Buffer.from(seed)), ...corpus]
  const found: Buffer[] = []
  const state: { runs: number; finding: Finding | undefined } = { runs: 0, finding: undefined }
  const readOne = (input: Buffer): void => {
    options.onInput(input)
    state.runs += 1
    const why = problemWith(reader, input)
    if (why !== undefined) state.finding ??= { input, why }
  }
  /** Of a batch that has reached new code: halves it until it is one input. */
  const keepNew = (batch: readonly Buffer[]): void => {
    if (batch.length === 1) {
      batch.forEach(readOne)
      // Code that runs once in a process is not reached by the input alone.
      if (coverage.take() === 0) return
      inputs.push(...batch)
      found.push(...batch)
      return
    }
    for (const half of [batch.slice(0, batch.length / 2), batch.slice(batch.length / 2)]) {
      half.forEach(readOne)
      if (coverage.isNew()) keepNew(half)
    }
  }

  inputs.forEach(readOne)
  coverage.take()
  let batchMs = 0
  while (clock.monotonic() < until && state.finding === undefined) {
    const batch: Buffer[] = []
    for (const end = clock.monotonic() + batchMs; batch.length < LARGEST_BATCH; ) {
      const input = mutated(random.of(inputs, EMPTY), { words, others: inputs }, random)
      batch.push(input)
      readOne(input)
      if (clock.monotonic() >= end) break
    }
    if (!guided) continue
    const takenAt = clock.monotonic()
    if (coverage.isNew()) keepNew(batch)
    else batchMs = INPUTS_PER_COVERAGE * (clock.monotonic() - takenAt)
  }
  coverage.take()
  return { ...state, covered: coverage.size, found }
}

const EMPTY: Buffer = Buffer.alloc(0)

/** Why an input breaks a promise of the reader. */
export function problemWith(reader: Reader, input: Buffer): string | undefined {
  try {
    reader.read(input)
    return undefined
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${messageOf(error)}` : String(error)
  }
}

import { messageOf, systemClock } from '@csi-sidecars/base'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { editedInputs, knownInputs, lineOf } from './inputs.ts'
import type { BytesReader } from './reader.ts'
import { jsonFrames, protobufFrames } from './readers/api-server.ts'
import { httpAnswers, httpConnections } from './readers/http1.ts'
import { protobufObjects, statusDetails } from './readers/objects.ts'
import { durations, flags, kubeconfigs, quantities } from './readers/texts.ts'

/** All parsers of bytes from outside, such as HTTP answers and kubeconfigs. */
const READERS: readonly BytesReader[] = [
  httpAnswers,
  httpConnections,
  jsonFrames,
  protobufFrames,
  protobufObjects,
  statusDetails,
  quantities,
  flags,
  kubeconfigs,
  durations,
]

/** The duration of `npm run fuzz` for all parsers together. If it is 0, each parser gets a fixed number of inputs. */
const MINUTES = Number(process.env['FUZZ_MINUTES'] ?? 0)
const MS = (MINUTES * 60_000) / READERS.length
/** Without `FUZZ_MINUTES` the seed is fixed, so that a failure comes from the change under test. */
const SEED = Number(process.env['FUZZ_SEED'] ?? (MINUTES > 0 ? systemClock.now() % 2 ** 32 : 1))
const RUNS = 4_000
/** A parser that takes longer counts as hanging. An input normally takes microseconds. */
const HANG_MS = 10_000

/** Runs a parser on an input. Returns the unexpected error or the time-out as text, or undefined if there is none. */
function problemWith(reader: BytesReader, input: Buffer): string | undefined {
  const start = systemClock.monotonic()
  try {
    reader.read(input)
  } catch (error) {
    return `${error instanceof Error ? error.name : 'thrown'}: ${messageOf(error)}`
  }
  const ms = systemClock.monotonic() - start
  return ms < HANG_MS ? undefined : `the reader took ${ms} ms`
}

describe.each(READERS.map((reader) => [reader.name, reader] as const))('%s', (_, reader) => {
  it('the parser reads all known inputs without a hang or an unexpected error', () => {
    const problems = knownInputs(reader).flatMap((input) => {
      const why = problemWith(reader, input)
      return why === undefined ? [] : [`${why}: ${lineOf(input)}`]
    })
    expect(problems).toEqual([])
  })

  it(
    'the parser reads randomly edited inputs without a hang or an unexpected error',
    () => {
      const holds = fc.property(editedInputs(reader), (input) => {
        const why = problemWith(reader, input)
        if (why !== undefined) throw new Error(`${why}\n${lineOf(input)}`)
      })
      const long = { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: MS }
      fc.assert(holds, { seed: SEED, ...(MINUTES > 0 ? long : { numRuns: RUNS }) })
    },
    MS + 60_000,
  )
})

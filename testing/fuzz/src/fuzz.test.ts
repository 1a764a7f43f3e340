import { systemClock } from '@csi-sidecars/base'
import { describe, expect, it } from '@jest/globals'
import { readCorpus, textOf } from './corpus.ts'
import { problemWith } from './fuzz.ts'
import { READERS } from './readers.ts'
import { run } from './run.ts'

const SECONDS = 3
/** The same for each run, so that a failure is the fault of the change. `npm run fuzz` takes another seed each time, also every night. */
const SEED = 1

describe.each(READERS.map((reader) => [reader.name, reader] as const))('the reader of %s', (name, reader) => {
  it('keeps its promises for all that has been found', async () => {
    const inputs = [...reader.seeds.map((seed) => Buffer.from(seed)), ...(await readCorpus(name))]
    const problems = inputs.flatMap((input) => {
      const why = problemWith(reader, input)
      return why === undefined ? [] : [`${why}: ${textOf(input)}`]
    })
    expect(problems).toEqual([])
  })

  it(`keeps them for what is found in ${SECONDS} seconds`, async () => {
    const corpus = await readCorpus(name)
    const { runs, finding } = await run({
      reader: name,
      corpus,
      ms: SECONDS * 1000,
      seed: SEED,
      guided: true,
      clock: systemClock,
    })
    expect(finding && `${finding.why} (seed ${SEED}): ${textOf(finding.input)}`).toBeUndefined()
    expect(runs).toBeGreaterThan(corpus.length)
  })
})

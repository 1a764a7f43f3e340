import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { messageOf, systemClock } from '@csi-sidecars/base'
import { readCorpus, textOf, writeCorpus } from './corpus.ts'
import { READERS } from './readers.ts'
import { type RunOptions, run } from './run.ts'

const USAGE = `usage: npm run fuzz -- [--minutes N] [--seed N] [--reader NAME]... [--unguided] [--save]

Feeds each reader for its share of the time; --save keeps what has reached new code in testing/fuzz/corpus.
Readers: ${READERS.map(({ name }) => name).join(', ')}
`

/** 0: all promises are kept. 1: a finding, with its input. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(systemClock.now() % 2 ** 32) },
      reader: { type: 'string', multiple: true, default: READERS.map(({ name }) => name) },
      unguided: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const [minutes, seed, names] = [Number(values.minutes), Number(values.seed), values.reader]
  const known = names.every((name) => READERS.some((reader) => reader.name === name))
  if (values.help || !known || !(minutes > 0) || !Number.isSafeInteger(seed)) {
    process.stderr.write(USAGE)
    return values.help ? 0 : 2
  }
  process.stdout.write(`seed ${seed}\n`)
  const waiting = [...names]
  const threads = Math.min(availableParallelism(), names.length)
  const ms = (minutes * 60_000 * threads) / names.length
  let failed = 0
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      if (!(await fuzzed(name, { ms, seed, guided: !values.unguided, saves: values.save }))) failed += 1
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  process.stdout.write(`${names.length - failed} passed, ${failed} failed\n`)
  return failed === 0 ? 0 : 1
}

type How = Pick<RunOptions, 'ms' | 'seed' | 'guided'> & { readonly saves: boolean }

async function fuzzed(reader: string, { ms, seed, guided, saves }: How): Promise<boolean> {
  const corpus = await readCorpus(reader)
  const { runs, covered, found, finding } = await run({ reader, corpus, ms, seed, guided, clock: systemClock })
  process.stdout.write(`${reader}: ${runs} inputs, ${covered} characters of code, ${found.length} new inputs\n`)
  if (saves) await writeCorpus(reader, [...corpus, ...found])
  if (finding === undefined) return true
  process.stdout.write(`${reader}: ${finding.why}\n  ${textOf(finding.input)}\n`)
  return false
}

const code = await main().catch((error: unknown) => {
  process.stderr.write(`fuzz: ${messageOf(error)}\n`)
  return 2
})
process.exit(code)

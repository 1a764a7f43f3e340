import { createWriteStream } from 'node:fs'
import process from 'node:process'
import { CancelledError, messageOf, systemClock } from '@csi-sidecars/base'
import { openLog } from '@csi-sidecars/telemetry'
import { parseOptions } from './options.ts'
import { type RunParts, run } from './run.ts'
import { styleFor } from './terminal/style.ts'

const stop = new AbortController()
const write = (text: string): void => void process.stdout.write(text)

/** The first signal ends the cluster in good order; a second one does not wait for that. */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(130)
    stop.abort(new CancelledError(signal))
  })
}

process.exit(await main())

async function main(): Promise<number> {
  try {
    const style = styleFor(process.stdout, process.env)
    const terminal = { write, style, interactive: process.stdout.isTTY === true }
    const log = (file: string) =>
      openLog({ stream: createWriteStream(file), format: 'text', verbosity: 2, clock: systemClock }).log
    const parts = { terminal, clock: systemClock, openLog: log }
    const [first, ...rest] = process.argv.slice(2)
    return first === 'test' ? await testDriver(rest, parts) : await playStory(process.argv.slice(2), parts)
  } catch (error) {
    write(`${messageOf(error)}\n`)
    return 2
  }
}

async function playStory(args: readonly string[], parts: RunParts): Promise<number> {
  const options = await parseOptions(args, write)
  return options === 'answered' ? 0 : await run(options, parts, stop.signal)
}

/** Not loaded where nobody tests a driver. */
async function testDriver(args: readonly string[], parts: RunParts): Promise<number> {
  const { parseTestOptions } = await import('./driver-test/options.ts')
  const { runDriverTest } = await import('./driver-test/run.ts')
  const options = await parseTestOptions(args, write)
  return options === 'answered' ? 0 : await runDriverTest(options, parts, stop.signal)
}

import { createWriteStream } from 'node:fs'
import process from 'node:process'
import { CancelledError, messageOf, systemClock } from '@csi-sidecars/base'
import { openLog } from '@csi-sidecars/telemetry'
import { readCommandLine } from './command-line.ts'
import type { TestOptions } from './driver-test/options.ts'
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
    const command = await readCommandLine(process.argv.slice(2), write)
    if (command === 'answered') return 0
    return command.run === 'test'
      ? await testDriver(command.options, parts)
      : await run(command.options, parts, stop.signal)
  } catch (error) {
    write(`${messageOf(error)}\n`)
    return 2
  }
}

/** Not loaded where nobody tests a driver. */
async function testDriver(options: TestOptions, parts: RunParts): Promise<number> {
  const { runDriverTest } = await import('./driver-test/run.ts')
  return await runDriverTest(options, parts, stop.signal)
}

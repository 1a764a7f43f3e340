import { createWriteStream } from 'node:fs'
import process from 'node:process'
import { messageOf, systemClock } from '@csi-sidecars/base'
import { openLog } from '@csi-sidecars/telemetry'
import { readCommandLine } from './command-line.ts'
import type { TestOptions } from './driver-test/options.ts'
import { type RunParts, run } from './run.ts'
import { styleFor } from './terminal/style.ts'

const write = (text: string): void => void process.stdout.write(text)

/** Carries a command line out. Returns the exit code. */
export async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  try {
    const style = styleFor(process.stdout, process.env)
    const terminal = { write, style, interactive: process.stdout.isTTY === true }
    const log = (file: string) =>
      openLog({ stream: createWriteStream(file), format: 'text', verbosity: 2, clock: systemClock }).log
    const parts = { terminal, clock: systemClock, openLog: log }
    const command = await readCommandLine(args, write)
    if (command === 'answered') return 0
    return command.run === 'test'
      ? await testDriver(command.options, parts, signal)
      : await run(command.options, parts, signal)
  } catch (error) {
    write(`${messageOf(error)}\n`)
    return 2
  }
}

/** Loaded only for a driver test. */
async function testDriver(options: TestOptions, parts: RunParts, signal: AbortSignal): Promise<number> {
  const { runDriverTest } = await import('./driver-test/run.ts')
  return await runDriverTest(options, parts, signal)
}

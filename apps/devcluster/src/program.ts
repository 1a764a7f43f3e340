import { createWriteStream } from 'node:fs'
import process from 'node:process'
import { CancelledError, messageOf, systemClock } from '@csi-sidecars/base'
import { openLog } from '@csi-sidecars/telemetry'
import type { RunParts } from './run.ts'
import { styleFor } from './terminal/printer.ts'

/** Returns an AbortSignal that the first SIGINT, SIGTERM or SIGHUP aborts. A second one ends the process at once. */
export function signalOfTerminal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130)
      stop.abort(new CancelledError(signal))
    })
  }
  return stop.signal
}

const write = (text: string): void => void process.stdout.write(text)

/** Parses a command line and runs the program. The exit code is 0 after `--help` and 2 after a wrong argument. */
export async function runCommandLine<T>(
  read: (write: (text: string) => void) => Promise<T | 'answered'>,
  run: (options: T, parts: RunParts) => Promise<number>,
): Promise<number> {
  try {
    const style = styleFor(process.stdout, process.env)
    const terminal = { write, style, interactive: process.stdout.isTTY === true }
    const log = (file: string) =>
      openLog({ stream: createWriteStream(file), format: 'text', verbosity: 2, clock: systemClock }).log
    const options = await read(write)
    return options === 'answered' ? 0 : await run(options, { terminal, clock: systemClock, openLog: log })
  } catch (error) {
    write(`${messageOf(error)}\n`)
    return 2
  }
}

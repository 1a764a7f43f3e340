import { systemClock } from '@csi-sidecars/base'
import type { Host, ProcessEnding } from '../process.ts'
import { runProgram } from '../start/main.ts'
import type { Program } from '../start/program.ts'

/** The result of a sidecar that has ended. */
export interface Ended {
  readonly ending: ProcessEnding
  readonly stdout: string
  readonly log: string
}

/** The influence of a test on a sidecar that runs in this process. Default: no signal and an empty environment. */
export interface InProcessOptions {
  /** The signal whose abort acts like SIGTERM. */
  readonly signal?: AbortSignal
  readonly env?: NodeJS.ProcessEnv
  /** Receives each piece of the log. */
  readonly onLog?: (text: string) => void
}

/** Runs a whole sidecar in this process, from its command line to its end. For tests. */
export async function runInProcess(
  program: Program,
  args: readonly string[],
  { signal, env = {}, onLog }: InProcessOptions = {},
): Promise<Ended> {
  let log = ''
  let stdout = ''
  const host: Host = {
    argv0: program.name,
    args,
    env,
    hostName: 'host',
    clock: systemClock,
    stdout: {
      write: (text) => {
        stdout += text
        return true
      },
    },
    stderr: {
      writableLength: 0,
      write: (text) => {
        log += text
        onLog?.(text)
        return true
      },
      on: () => undefined,
    },
    onSignal: (listener) => {
      const onAbort = (): void => listener('SIGTERM')
      signal?.addEventListener('abort', onAbort, { once: true })
      return () => signal?.removeEventListener('abort', onAbort)
    },
    onUncaughtError: () => () => undefined,
    writeTerminationMessage: async () => {},
  }
  const ending = await runProgram(program, host, { version: 'v0.0.0' })
  return { ending, stdout, log }
}

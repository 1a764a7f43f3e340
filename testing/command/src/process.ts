import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { abortable, deadline, systemClock } from '@csi-sidecars/base'

/** The program that `startProcess` starts. Its working directory is that of this process unless `cwd` is set. */
export interface ProgramOptions {
  /** The command and its arguments. */
  readonly command: readonly [string, ...string[]]
  /** The environment of the process. Only PATH and HOME are inherited. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** The end of a process: its exit code, or the signal that killed it. The other field is null. */
export interface ProgramExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A child process whose output is kept line by line. */
export interface RunningProcess extends AsyncDisposable {
  readonly pid: number
  readonly stderr: readonly string[]
  readonly stdout: readonly string[]
  readonly exited: Promise<ProgramExit>
  /** Returns the first past or future line of stderr that contains the text. Rejects if the process ends without it. */
  untilLine(text: string | RegExp, options?: { timeoutMs?: number }): Promise<string>
  kill(signal?: NodeJS.Signals): void
  /** Sends SIGTERM, and after 5 seconds SIGKILL. */
  stop(): Promise<ProgramExit>
}

const GRACE_MS = 5_000

/** Starts a program. Rejects if the program cannot be started. */
export async function startProcess(options: ProgramOptions): Promise<RunningProcess> {
  const [command, ...args] = options.command
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(command, args, {
    env: { PATH, HOME, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  const exited = new Promise<ProgramExit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  const stderr = new Lines(child.stderr)
  const stdout = new Lines(child.stdout)
  const stop = (): Promise<ProgramExit> => stopChild(child, exited)
  return {
    pid: child.pid ?? 0,
    stderr: stderr.kept,
    stdout: stdout.kept,
    exited,
    untilLine: (text, { timeoutMs = 10_000 } = {}) => stderr.until(text, exited, timeoutMs),
    kill: (signal = 'SIGKILL') => child.kill(signal),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop()
    },
  }
}

async function stopChild(child: ChildProcess, exited: Promise<ProgramExit>): Promise<ProgramExit> {
  child.kill('SIGTERM')
  const cancel = systemClock.schedule(GRACE_MS, () => child.kill('SIGKILL'))
  try {
    return await exited
  } finally {
    cancel()
  }
}

/** Collects the lines of a stream. */
class Lines {
  readonly kept: string[] = []
  readonly #listeners = new Set<(line: string) => void>()

  constructor(stream: Readable) {
    createInterface({ input: stream }).on('line', (line) => {
      this.kept.push(line)
      for (const listener of [...this.#listeners]) listener(line)
    })
  }

  async until(text: string | RegExp, exited: Promise<ProgramExit>, timeoutMs: number): Promise<string> {
    const fits = (line: string): boolean => (typeof text === 'string' ? line.includes(text) : text.test(line))
    const past = this.kept.find(fits)
    if (past !== undefined) return past
    const found = Promise.withResolvers<string>()
    const listener = (line: string): void => {
      if (fits(line)) found.resolve(line)
    }
    this.#listeners.add(listener)
    using guard = deadline(systemClock, timeoutMs, { operation: `waiting for a line with ${String(text)}` })
    const ended = exited.then(({ code, signal }) => {
      throw new Error(`ended with ${code ?? signal} before a line with ${String(text)}:\n${this.kept.join('\n')}`)
    })
    try {
      return await abortable(Promise.race([found.promise, ended]), guard.signal)
    } finally {
      this.#listeners.delete(listener)
    }
  }
}

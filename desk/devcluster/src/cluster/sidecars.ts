import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { Backoff, type Clock, messageOf } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { guardGroup, killGroup } from './process-group.ts'

/** The command line of a sidecar, and the observers of its process. */
export interface SidecarProcessOptions {
  readonly name: string
  /** The path of the binary. */
  readonly command: string
  readonly args: readonly string[]
  readonly logFile: string
  readonly clock: Clock
  readonly log: Logger
  /** Called when the process has ended without a stop. */
  readonly onExit: (reason: string) => void
  /** The back-off before a restart. */
  readonly restart?: { readonly initialMs: number; readonly maxMs: number }
}

/** A sidecar in a child process. It is restarted whenever it ends, like a container. */
export interface SidecarProcess {
  readonly name: string
  /** The ID of the running process. */
  readonly pid: number | undefined
  readonly logFile: string
  /** Sends a signal. SIGKILL goes to all processes that the sidecar has started, as in a container. */
  kill(signal: NodeJS.Signals): void
  stop(): Promise<void>
}

const GRACE_MS = 5_000
const RESTART = { initialMs: 200, maxMs: 10_000 }
/** The run time after which a process counts as stable. The next restart then has the shortest back-off. */
const STABLE_MS = 5_000

export async function startSidecar(options: SidecarProcessOptions): Promise<SidecarProcess> {
  const sidecar = new RestartedSidecar(options)
  await sidecar.start()
  return sidecar
}

class RestartedSidecar implements SidecarProcess {
  readonly #options: SidecarProcessOptions
  readonly #pauses: Backoff
  #child: ChildProcess | undefined
  #stopping = false
  #cancelRestart = (): void => undefined
  #startedAt = 0

  constructor(options: SidecarProcessOptions) {
    this.#options = options
    this.#pauses = new Backoff(options.restart ?? RESTART)
  }

  get name(): string {
    return this.#options.name
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get logFile(): string {
    return this.#options.logFile
  }

  /** Starts the process. Rejects if it cannot be started. */
  async start(): Promise<void> {
    const { name, command, args, logFile, clock, log } = this.#options
    const output = openSync(logFile, 'a')
    // A separate process group keeps Ctrl-C from the sidecar, so that this process can stop all parts in order.
    const child = spawn(command, args, { stdio: ['ignore', output, output], detached: true })
    closeSync(output)
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (cause) => reject(new Error(`${command} cannot be started: ${cause.message}`, { cause })))
    })
    this.#child = child
    this.#startedAt = clock.monotonic()
    const endGuard = guardGroup(child.pid, (error) =>
      log.error(error, 'Nothing will end the sidecar if we are killed', { name }),
    )
    child.once('close', (code, signal) => {
      endGuard()
      this.#ended(code === null ? `by ${signal}` : `with code ${code}`)
    })
    // `stop` may have been called while the process started.
    if (this.#stopping) child.kill('SIGTERM')
  }

  #ended(how: string): void {
    const { onExit, clock } = this.#options
    this.#child = undefined
    if (this.#stopping) return
    onExit(how)
    if (clock.monotonic() - this.#startedAt > STABLE_MS) this.#pauses.reset()
    this.#cancelRestart = clock.schedule(this.#pauses.next(), () => {
      this.start().catch((error: unknown) => this.#ended(messageOf(error)))
    })
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#child === undefined) return
    if (signal === 'SIGKILL') killGroup(this.#child)
    else this.#child.kill(signal)
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#cancelRestart()
    const child = this.#child
    if (child === undefined) return
    const closed = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGTERM')
    const cancel = this.#options.clock.schedule(GRACE_MS, () => this.kill('SIGKILL'))
    await closed
    cancel()
  }
}

import { connect } from 'node:net'
import type { Clock } from '@csi-sidecars/base'
import { startSidecar } from '@csi-sidecars/devcluster'
import type { Logger } from '@csi-sidecars/telemetry'

export interface DriverProcessOptions {
  /** `exec` lets the driver replace the shell. */
  readonly command: string
  readonly logFile: string
  readonly clock: Clock
  readonly log: Logger
}

/** The driver under test as processes of ours: killed at will, and started again whenever it has ended. */
export interface DriverProcess {
  /** Kills the next of the driver's processes with SIGKILL. */
  kill(): void
  /** The same for all of its processes at once. */
  killAll(): void
  /** Calls the listener with how it has ended unless it was killed. Returns the undo. */
  watchDeaths(listener: (how: string) => void): () => void
  /**
   * Aborted when one of them ends by itself again and again: the test cannot continue. Counts from the call on, because
   * a trial of one ability may end a driver that is able to do the rest.
   */
  watchGone(): AbortSignal
  stop(): Promise<void>
}

/** Throws if another driver already listens on the socket. */
export async function refuseServed(addresses: readonly string[]): Promise<void> {
  for (const address of addresses) {
    const socket = connect(address.replace(/^unix:\/\//, ''))
    const served = await new Promise((answer) => {
      socket.once('connect', () => answer(true)).once('error', () => answer(false))
    })
    socket.destroy()
    if (served === true) {
      throw new Error(
        `--driver-command: something answers at ${address} already; end it, or leave out --driver-command`,
      )
    }
  }
}

/** A driver that ends by itself so often in a row, each time within this time, is gone. */
const MOST_ENDS = 8
const SOON_MS = 10_000

/** Ends a test whose driver does not stay up. */
export class DriverGoneError extends Error {
  override readonly name = 'DriverGoneError'
}

/** The pauses before a killed driver starts again. */
const RESTART = { initialMs: 200, maxMs: 1_000 }

/** Several processes of one driver, its controller and its nodes for instance: each kill affects the next of them. */
export async function startDriverProcesses(
  commands: readonly string[],
  parts: Omit<DriverProcessOptions, 'command'>,
): Promise<DriverProcess> {
  const all: OneProcess[] = []
  const stop = async (): Promise<void> => void (await Promise.all(all.map((each) => each.stop())))
  try {
    for (const command of commands) all.push(await startDriverProcess({ ...parts, command }))
  } catch (error) {
    await stop()
    throw error
  }
  let turn = 0
  return {
    kill() {
      all[turn % all.length]?.kill()
      turn += 1
    },
    killAll() {
      for (const each of all) each.kill()
    },
    watchDeaths(listener) {
      const undo = all.map((each) => each.watchDeaths(listener))
      return () => {
        for (const each of undo) each()
      }
    },
    watchGone() {
      const gone = new AbortController()
      for (const each of all) each.watchDeaths(endsInARow(parts.clock, (error) => gone.abort(error)))
      return gone.signal
    },
    stop,
  }
}

type OneProcess = Omit<DriverProcess, 'killAll' | 'watchGone'>

/** A listener of deaths that reports the driver gone. */
function endsInARow(clock: Clock, report: (error: DriverGoneError) => void): (how: string) => void {
  let endedAt = clock.monotonic()
  let ends = 0
  return (how) => {
    const now = clock.monotonic()
    ends = now - endedAt < SOON_MS ? ends + 1 : 1
    endedAt = now
    if (ends >= MOST_ENDS) report(new DriverGoneError(`the driver ended ${how}, ${MOST_ENDS} times in a row`))
  }
}

async function startDriverProcess({ command, ...parts }: DriverProcessOptions): Promise<OneProcess> {
  const listeners = new Set<(how: string) => void>()
  let killed = false
  const child = await startSidecar({
    ...parts,
    name: 'driver',
    command: 'sh',
    args: ['-c', `exec ${command}`],
    restart: RESTART,
    onExit: (how) => {
      if (!killed) for (const listener of [...listeners]) listener(how)
      killed = false
    },
  })
  return {
    kill() {
      if (child.pid === undefined) return
      killed = true
      child.kill('SIGKILL')
    },
    watchDeaths(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: () => child.stop(),
  }
}

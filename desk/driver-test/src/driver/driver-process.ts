import { connect } from 'node:net'
import type { Clock } from '@csi-sidecars/base'
import { type SidecarProcess, startSidecar } from '@csi-sidecars/devcluster'
import type { Logger } from '@csi-sidecars/telemetry'

interface DriverProcessOptions {
  readonly logFile: string
  readonly clock: Clock
  readonly log: Logger
}

/** The processes of a driver that the test has started. They start again whenever they end. */
export interface OwnDriverProcess {
  /** Kills one process of the driver with SIGKILL. Each call kills the next process. */
  kill(): void
  /** Kills all processes of the driver with SIGKILL. */
  killAll(): void
  /** Reports the exit code or signal when a process ends by itself. Returns a function that removes the listener. */
  watchDeaths(listener: (how: string) => void): () => void
  /**
   * Returns a signal that is aborted when a process ends by itself eight times in a row, because then the test cannot
   * continue. Crashes before this call do not count: the driver may crash while the test tries its abilities.
   */
  watchGone(): AbortSignal
  stop(): Promise<void>
}

/** Throws if a process already listens on one of the sockets. */
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

/** A driver is gone if it ends by itself this often in a row, each time within `SOON_MS` after the last end. */
const MAX_ENDS = 8
const SOON_MS = 10_000

/** The back-off before a driver starts again. */
const RESTART = { initialMs: 200, maxMs: 1_000 }

/** Starts the processes of one driver, for example its controller service and its node services. */
export async function startDriverProcesses(
  commands: readonly string[],
  options: DriverProcessOptions,
): Promise<OwnDriverProcess> {
  const all: SidecarProcess[] = []
  const killed = new Set<number>()
  const listeners = new Set<(how: string, index: number) => void>()
  const stop = async (): Promise<void> => void (await Promise.all(all.map((each) => each.stop())))
  try {
    for (const [index, command] of commands.entries()) {
      const onExit = (how: string): void => {
        if (!killed.delete(index)) for (const listener of [...listeners]) listener(how, index)
      }
      const shell = { name: 'driver', command: 'sh', args: ['-c', `exec ${command}`], restart: RESTART }
      all.push(await startSidecar({ ...options, ...shell, onExit }))
    }
  } catch (error) {
    await stop()
    throw error
  }
  const kill = (index: number): void => {
    if (all[index]?.pid === undefined) return
    killed.add(index)
    all[index].kill('SIGKILL')
  }
  let turn = 0
  return {
    kill() {
      kill(turn % all.length)
      turn += 1
    },
    killAll: () => all.forEach((_, index) => void kill(index)),
    watchDeaths(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    watchGone() {
      const gone = new AbortController()
      const ends = all.map(() => endsInARow(options.clock, (error) => gone.abort(error)))
      listeners.add((how, index) => ends[index]?.(how))
      return gone.signal
    },
    stop,
  }
}

/** Returns a listener for the end of a process. After too many ends in a row the listener calls `report`. */
function endsInARow(clock: Clock, report: (error: Error) => void): (how: string) => void {
  let endedAt = clock.monotonic()
  let ends = 0
  return (how) => {
    const now = clock.monotonic()
    ends = now - endedAt < SOON_MS ? ends + 1 : 1
    endedAt = now
    if (ends >= MAX_ENDS) report(new Error(`the driver ended ${how}, ${MAX_ENDS} times in a row`))
  }
}

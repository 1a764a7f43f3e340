import { connect } from 'node:net'
import type { Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import { startSidecar } from '../../cluster/sidecars.ts'

export interface DriverProcessOptions {
  /** For a shell, which it takes the place of. */
  readonly command: string
  readonly logFile: string
  readonly clock: Clock
  readonly log: Logger
}

/** The driver under test as processes of ours: killed at will, and started again whenever it has ended. */
export interface DriverProcess {
  /** As SIGKILL does it, the next of its processes. */
  kill(): void
  /** The same for all of its processes at once. */
  killAll(): void
  /** Calls the listener with how it has ended unless it was killed. Returns the undo. */
  watchDeaths(listener: (how: string) => void): () => void
  /** Aborted when one of them ends again and again, soon after each start: nothing is to be learned any more. */
  readonly gone: AbortSignal
  stop(): Promise<void>
}

/** Throws where something listens already: the driver that is started would be a second one beside it. */
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

/** A driver that was killed is soon back, however often. */
/** So often in a row it must end by itself, each time within this time, to be gone. */
const MOST_ENDS = 8
const SOON_MS = 10_000

/** Ends a test whose driver does not stay up. */
export class DriverGoneError extends Error {
  override readonly name = 'DriverGoneError'
}

const RESTART = { initialMs: 200, maxMs: 1_000 }

/** Several processes of one driver, its controller and its nodes for instance: each kill affects the next of them. */
export async function startDriverProcesses(
  commands: readonly string[],
  parts: Omit<DriverProcessOptions, 'command'>,
): Promise<DriverProcess> {
  const all: OneProcess[] = []
  const gone = new AbortController()
  const stop = async (): Promise<void> => void (await Promise.all(all.map((each) => each.stop())))
  try {
    for (const command of commands) all.push(await startDriverProcess({ ...parts, command }, gone))
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
    gone: gone.signal,
    stop,
  }
}

type OneProcess = Omit<DriverProcess, 'killAll' | 'gone'>

async function startDriverProcess(
  { command, ...parts }: DriverProcessOptions,
  gone: AbortController,
): Promise<OneProcess> {
  const { clock } = parts
  let endedAt = clock.monotonic()
  let ends = 0
  const countEnd = (how: string): void => {
    ends = !killed && clock.monotonic() - endedAt < SOON_MS ? ends + 1 : 0
    endedAt = clock.monotonic()
    if (ends >= MOST_ENDS) gone.abort(new DriverGoneError(`the driver ended ${how}, ${MOST_ENDS} times in a row`))
  }
  const listeners = new Set<(how: string) => void>()
  let killed = false
  const child = await startSidecar({
    ...parts,
    name: 'driver',
    command: 'sh',
    args: ['-c', `exec ${command}`],
    restart: RESTART,
    onExit: (how) => {
      countEnd(how)
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

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
  /** As SIGKILL does it. */
  kill(): void
  /** Calls the listener with how it has ended unless it was killed. Returns the undo. */
  watchDeaths(listener: (how: string) => void): () => void
  stop(): Promise<void>
}

/** A driver that was killed is soon back, however often. */
const RESTART = { initialMs: 200, maxMs: 1_000 }

/** Several processes of one driver, its controller and its nodes for instance: each kill affects the next of them. */
export async function startDriverProcesses(
  commands: readonly string[],
  parts: Omit<DriverProcessOptions, 'command'>,
): Promise<DriverProcess> {
  const all: DriverProcess[] = []
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
    watchDeaths(listener) {
      const undo = all.map((each) => each.watchDeaths(listener))
      return () => {
        for (const each of undo) each()
      }
    },
    stop,
  }
}

async function startDriverProcess({ command, ...parts }: DriverProcessOptions): Promise<DriverProcess> {
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

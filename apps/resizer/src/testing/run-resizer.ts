import { type Cancel, type Clock, sleepOn, systemClock } from '@csi-sidecars/base'
import { type Host, runApp } from '@csi-sidecars/sidecar'
import { resizer } from '../app.ts'

export interface RunOptions {
  readonly kubeconfig: string
  readonly socket: string
  readonly flags?: readonly string[]
}

/** What is left of a resizer that has ended. */
export interface Ended {
  readonly ending: Awaited<ReturnType<typeof runApp>>
  readonly stdout: string
  readonly log: string
}

/** The whole resizer in this process, from its command line to its end, for which the signal may ask. */
export async function resizerToItsEnd(
  { kubeconfig, socket, flags = [] }: RunOptions,
  signal?: AbortSignal,
): Promise<Ended> {
  const { clock, end } = mortalClock()
  let log = ''
  let stdout = ''
  const host: Host = {
    argv0: 'csi-resizer',
    args: [`--kubeconfig=${kubeconfig}`, `--csi-address=${socket}`, '--v=5', ...flags],
    env: {},
    hostName: 'host',
    clock,
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
        return true
      },
      on: () => undefined,
    },
    onSignal: (listener) => {
      const onAbort = (): void => listener('SIGTERM')
      signal?.addEventListener('abort', onAbort, { once: true })
      return () => signal?.removeEventListener('abort', onAbort)
    },
    writeTerminationMessage: async () => {},
  }
  const ending = await runApp(resizer, host, 'v0.0.0').finally(end)
  return { ending, stdout, log }
}

/** Until the signal asks it to end; to end before that is a failure. */
export async function runResizer(options: RunOptions, signal: AbortSignal): Promise<void> {
  const { ending, log } = await resizerToItsEnd(options, signal)
  if (!signal.aborted) throw new Error(`csi-resizer ended with ${JSON.stringify(ending)}:\n${log}`)
}

/** The real time, whose timers end with the process: connections that are kept for later set some. */
function mortalClock(): { clock: Clock; end: () => void } {
  const pending = new Set<Cancel>()
  const schedule = (ms: number, fire: () => void): Cancel => {
    const stop = systemClock.schedule(ms, () => {
      pending.delete(cancel)
      fire()
    })
    const cancel = (): void => {
      pending.delete(cancel)
      stop()
    }
    pending.add(cancel)
    return cancel
  }
  const clock: Clock = { ...systemClock, schedule, sleep: (ms, signal) => sleepOn(clock, ms, signal) }
  const end = (): void => {
    for (const cancel of pending) cancel()
  }
  return { clock, end }
}

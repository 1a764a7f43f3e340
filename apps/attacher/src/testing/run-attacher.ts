import { type Cancel, type Clock, sleepOn, systemClock } from '@csi-sidecars/base'
import { type Host, runApp } from '@csi-sidecars/sidecar'
import { attacher } from '../app.ts'

/** The whole attacher in this process, from its command line on, until the signal asks it to end. */
export async function runAttacher(
  { kubeconfig, socket, flags = [] }: { kubeconfig: string; socket: string; flags?: readonly string[] },
  signal: AbortSignal,
): Promise<void> {
  let log = ''
  const { clock, end } = mortalClock()
  const host: Host = {
    argv0: 'csi-attacher',
    args: [`--kubeconfig=${kubeconfig}`, `--csi-address=${socket}`, '--v=5', ...flags],
    env: {},
    hostName: 'host',
    clock,
    stdout: { write: () => true },
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
      signal.addEventListener('abort', onAbort, { once: true })
      return () => signal.removeEventListener('abort', onAbort)
    },
    writeTerminationMessage: async () => {},
  }
  const ending = await runApp(attacher, host, 'v0.0.0').finally(end)
  if (!signal.aborted) throw new Error(`csi-attacher ended with ${JSON.stringify(ending)}:\n${log}`)
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

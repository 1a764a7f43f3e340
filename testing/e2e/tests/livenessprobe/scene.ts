import { dirname, join } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { eventually } from '../../harness/waiting.ts'

export type Side = 'ours' | 'original'

export interface Probe {
  readonly sidecar: RunningSidecar
  readonly port: number
}

export interface ProbeSetup {
  readonly side: Side
  readonly socket: string
  readonly args?: readonly string[]
}

/** Starts the livenessprobe alone, as the Go original is started; does not wait for anything. */
export async function livenessprobe(t: TestContext, { side, socket, args = [] }: ProbeSetup): Promise<Probe> {
  const port = await freePort()
  const own = [
    `--csi-address=${socket}`,
    ...(args.some((arg) => /-(?:endpoint|port)=/.test(arg)) ? [] : [`--health-port=${port}`]),
  ]
  const bareArgs = [...own, ...args.map((arg) => arg.replace('PORT', String(port)))]
  const sidecar = await t.sidecar(
    side === 'ours'
      ? { app: 'both', bareArgs: ['--controllers=livenessprobe', ...bareArgs] }
      : { binary: join(dirname(t.original('attacher')), 'livenessprobe'), bareArgs },
  )
  return { sidecar, port }
}

export interface Answer {
  readonly status: number
  readonly type: string | null
  readonly text: string
}

/** One request on a connection of its own, as the kubelet's; `refused` when nothing listens. */
export async function get(port: number, path = '/healthz'): Promise<Answer | 'refused'> {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() }
  } catch (error) {
    if (/ECONNREFUSED/.test(String((error as Error).cause))) return 'refused'
    throw error
  }
}

export async function listening(port: number): Promise<void> {
  await eventually('it listens', async () => (await get(port)) !== 'refused')
}

/** Returns the messages of the log lines, without the message `Version`, which only one side logs. */
export function messages({ sidecar }: Probe): readonly string[] {
  const all = sidecar.lines.flatMap((line) => / [\w.-]+:\d+\] "((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? [])
  return all.filter((message) => message !== 'Version')
}

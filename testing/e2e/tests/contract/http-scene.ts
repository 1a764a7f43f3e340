import { connect, type Socket } from 'node:net'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import { eventually } from '../../harness/waiting.ts'

/** A sidecar whose HTTP server answers. */
export async function serving(t: TestContext, setup: SidecarSetup = {}): Promise<RunningSidecar> {
  const sidecar = await t.sidecar({ ...setup, driver: await t.fullDriver() })
  await eventually('the HTTP server', async () => (await sidecar.http('/nothing')).code === 404)
  return sidecar
}

/** Connections that send these bytes and read nothing. */
export function connections({ port = 0 }: RunningSidecar, count: number, bytes: string): readonly Socket[] {
  return Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined) // the sidecar may close it
    socket.pause()
    socket.write(bytes)
    return socket
  })
}

/** The limit for the growth of the memory during an abuse. */
export const MOST_GROWTH_MIB = 90
/** The process answers within this time after an abuse. */
const RECOVERED_WITHIN_MS = 2000

/** Waits for an answer after the clients of an abuse have gone. */
export async function recovered(sidecar: RunningSidecar, path: string): Promise<void> {
  const answered = async (): Promise<boolean> => (await sidecar.http(path)).code === 200
  await eventually(`an answer from ${path}`, answered, { within: RECOVERED_WITHIN_MS })
}

export const PIPELINED = 1800

export function pipelined(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(PIPELINED)
}

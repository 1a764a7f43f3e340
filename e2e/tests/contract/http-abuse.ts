import { deepStrictEqual as equal, match, ok } from 'node:assert'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { residentMiB } from '../../harness/process/memory.ts'
import { start, stop } from '../../harness/process/processes.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'

const SLOW_CROWD = join(import.meta.dirname, '../../harness/slow-crowd.ts')
/** The Go originals need 20 for the scrapes. */
const MOST_GROWTH_MIB = 24

async function serving(t: TestContext, args: readonly string[] = []): Promise<RunningSidecar> {
  const driver = await t.driver({ controller: ['PUBLISH_UNPUBLISH_VOLUME', 'EXPAND_VOLUME'] })
  const sidecar = await t.sidecar({ driver, args, env: { MALLOC_ARENA_MAX: '1' } })
  await eventually('the HTTP server', async () => (await sidecar.http('/nothing')).code === 404)
  return sidecar
}

/** Connections that send these bytes and read nothing. */
async function deafClients(port: number, count: number, bytes: string): Promise<Socket[]> {
  const open = Array.from({ length: count }, async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined) // the sidecar may close it
    socket.pause()
    await once(socket, 'connect')
    socket.write(bytes)
    return socket
  })
  return await Promise.all(open)
}

const PIPELINED = 1800
const pipelined = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(PIPELINED)

const FLOODS: readonly (readonly [what: string, path: string, clients: number, only: 'ours' | undefined])[] = [
  ['scrapes', '/metrics', 16, undefined],
  ['a path that does not exist', '/nothing', 64, undefined],
  ['/debug/stuck', '/debug/stuck', 16, 'ours'],
]

for (const app of ['attacher', 'resizer'] as const) {
  const test = testsOf(app, 'HTTP abuse', WITHOUT_API)

  for (const [what, path, clients, only] of FLOODS) {
    const title = `${clients} clients that ask for ${what} ${PIPELINED} times each and read nothing cost little memory`
    test(title, { alone: true, ...(only && { only }) }, async (t) => {
      const sidecar = await serving(t)
      await sidecar.metrics()
      const before = residentMiB(sidecar.pid)
      const sockets = await deafClients(sidecar.port ?? 0, clients, pipelined(path))
      let most = before
      for (let probe = 0; probe < 20; probe += 1) {
        await pause(250)
        equal((await sidecar.http(t.ours ? '/livez' : '/metrics')).code, 200)
        most = Math.max(most, residentMiB(sidecar.pid))
      }
      for (const socket of sockets) socket.destroy()
      ok(most - before < MOST_GROWTH_MIB, `from ${before} to ${most} MiB`)
    })
  }

  test('300 slow clients that come again and again starve no probe', { alone: true }, async (t) => {
    const sidecar = await serving(t, ['--leader-election'])
    const crowd = start(process.execPath, [SLOW_CROWD, `${sidecar.port}`, '300'], { stdio: 'inherit' })
    try {
      await pause(1000)
      const paths = t.ours ? ['/healthz/leader-election', '/livez', '/readyz'] : ['/healthz/leader-election']
      const answers: string[] = []
      for (let probe = 0; probe < 60; probe += 1) {
        const path = paths[probe % paths.length] ?? ''
        answers.push(await sidecar.http(path).then(({ code }) => `${code}`, String))
        await pause(50)
      }
      equal(
        answers,
        answers.map(() => '200'),
      )
    } finally {
      await stop(crowd)
    }
  })

  test('a request without a version is refused', async (t) => {
    const sidecar = await serving(t)
    const [socket] = await deafClients(sidecar.port ?? 0, 1, 'GET /metrics\r\n\r\n')
    let answer = ''
    socket?.on('data', (bytes) => {
      answer += bytes
    })
    socket?.resume()
    await eventually('the end of the connection', () => socket?.destroyed)
    match(answer, /^HTTP\/1\.[01] 400 /)
  })
}

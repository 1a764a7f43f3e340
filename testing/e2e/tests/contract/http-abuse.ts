import { match, ok } from 'node:assert'
import { join } from 'node:path'
import { residentMiB } from '../../harness/process/memory.ts'
import { start, stop, textOf } from '../../harness/process/processes.ts'
import { testsOf, WITHOUT_API } from '../../harness/test.ts'
import { eventually, pause } from '../../harness/waiting.ts'
import { connections, MOST_GROWTH_MIB, PIPELINED, pipelined, recovered, serving } from './http-scene.ts'

const SLOW_CROWD = join(import.meta.dirname, '../../harness/slow-crowd.ts')
/** The memory that stays after an abuse. */
const KEPT_MIB = 24

/** The environment of an image. */
const env = { MALLOC_ARENA_MAX: '1' }

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
      const sidecar = await serving(t, { env })
      await sidecar.metrics()
      const before = residentMiB(sidecar.pid)
      const sockets = connections(sidecar, clients, pipelined(path))
      let most = before
      for (let look = 0; look < 50; look += 1) {
        await pause(100)
        most = Math.max(most, residentMiB(sidecar.pid))
      }
      for (const socket of sockets) socket.destroy()
      await recovered(sidecar, t.ours ? '/livez' : '/metrics')
      ok(most - before < MOST_GROWTH_MIB, `from ${before} to ${most} MiB`)
      const givenBack = (): boolean => residentMiB(sidecar.pid) - before < KEPT_MIB
      await eventually(`memory given back, from ${before} to ${most} MiB`, givenBack, { within: 60_000 })
    })
  }

  test('300 slow clients that come again and again keep no probe waiting after their end', {
    alone: true,
  }, async (t) => {
    const sidecar = await serving(t, { args: ['--leader-election'], env })
    const crowd = start(process.execPath, [SLOW_CROWD, `${sidecar.port}`, '300'], { stdio: 'inherit' })
    await pause(3000).finally(() => stop(crowd))
    const paths = t.ours ? ['/healthz/leader-election', '/livez', '/readyz'] : ['/healthz/leader-election']
    for (const path of paths) await recovered(sidecar, path)
  })

  test('a request without a version is refused', async (t) => {
    const [socket = null] = connections(await serving(t, { env }), 1, 'GET /metrics\r\n\r\n')
    const answer = textOf(socket)
    socket?.resume()
    await eventually('the end of the connection', () => socket?.destroyed)
    match(answer(), /^HTTP\/1\.[01] 400 /)
  })
}

import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, type KubeClient } from '@csi-sidecars/kube-client'
import type { Cache } from '@csi-sidecars/sidecar'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { describe, expect, it } from '@jest/globals'
import { GroupKinds } from './group-kinds.ts'

const refused = (code: number, reason: string): ApiError => new ApiError({ code, reason, message: reason })

/** Asks an API server that answers the first lists with these errors, and then runs the delayed cache. */
async function begin(...refusals: readonly ApiError[]) {
  const clock = new FakeClock()
  const log = recordingLogger()
  const stop = new AbortController()
  const left = [...refusals]
  const ran: string[] = []
  const list = async function* () {
    const refusal = left.shift()
    if (refusal !== undefined) throw refusal
    yield { items: [], resourceVersion: '1', continue: undefined }
  } as KubeClient['list']
  const kinds = new GroupKinds({ client: { list }, timeoutMs: 1_000, clock, log })
  const support = await kinds.ask(stop.signal)
  const filled: Cache = { name: 'contents', synced: false, silentForMs: 7, run: async () => void ran.push('contents') }
  const cache = kinds.delayed(filled)
  const running = Promise.allSettled([cache.run(stop.signal)])
  await clock.settle()
  return { clock, log, stop, ran, support, cache, running }
}

describe('GroupKinds', () => {
  it('the cache is filled at once if the API server serves group snapshots', async () => {
    const { support, ran, cache, log } = await begin()
    expect([support, ran]).toEqual(['served', ['contents']])
    expect(cache).toMatchObject({ name: 'contents', synced: false, silentForMs: 7 })
    expect(log.lines).toEqual([])
  })

  it.each([
    [404, 'NotFound'],
    [403, 'Forbidden'],
  ])('the answer %d turns group snapshots off, and their empty cache counts as filled', async (code, reason) => {
    const { clock, support, ran, cache, log, stop, running } = await begin(refused(code, reason))
    await clock.advance(60_000)
    expect([support, ran]).toEqual(['absent', []])
    expect(cache).toMatchObject({ name: 'contents', synced: true, silentForMs: 0 })
    expect(log.lines.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^VolumeGroupSnapshot CRDs were not found; disabling .*: /),
    ])
    stop.abort(new CancelledError('the process ends'))
    await running
  })

  it('after any other error, the API server is asked again until it answers', async () => {
    const { clock, support, ran, cache, log } = await begin(
      refused(500, 'InternalError'),
      refused(0, ''),
      refused(503, 'ServiceUnavailable'),
    )
    expect([support, ran]).toEqual(['unknown', []])
    expect(cache).toMatchObject({ name: expect.stringContaining('has not answered'), synced: false, silentForMs: 0 })
    await clock.advance(10_000)
    expect(ran).toEqual(['contents'])
    expect(cache).toMatchObject({ name: 'contents', silentForMs: 7 })
    expect(log.lines).toHaveLength(3)
  })

  it('group snapshots are turned off if a repeated question is answered with 404', async () => {
    const { clock, ran, cache, stop, running } = await begin(refused(500, 'InternalError'), refused(404, 'NotFound'))
    await clock.advance(10_000)
    expect([ran, cache.synced]).toEqual([[], true])
    stop.abort(new CancelledError('the process ends'))
    await running
  })
})

import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError } from '@csi-sidecars/kube-client'
import { VOLUME_SNAPSHOT_CLASSES, VOLUME_SNAPSHOT_CONTENTS } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { describe, expect, it } from '@jest/globals'
import type { Cache } from './caches.ts'
import { ServedKinds } from './served-kinds.ts'

const NOT_FOUND = new ApiError({ code: 404, reason: 'NotFound', message: 'the server could not find the resource' })
const BOTH = { resources: [{ name: 'volumesnapshotcontents' }, { name: 'volumesnapshotclasses' }] }

function begin(answer: () => unknown) {
  const clock = new FakeClock()
  const log = recordingLogger()
  const stop = new AbortController()
  const ran: string[] = []
  const served = new ServedKinds({
    resources: [VOLUME_SNAPSHOT_CONTENTS, VOLUME_SNAPSHOT_CLASSES],
    client: { discover: async () => answer() },
    clock,
    log,
  })
  const cacheOf = (name: string): Cache =>
    served.delayUntilServed({ name, synced: false, silentForMs: 7, run: async () => void ran.push(name) })
  const caches = ['contents', 'classes'].map(cacheOf)
  const running = Promise.allSettled(caches.map((cache) => cache.run(stop.signal)))
  return { clock, log, stop, ran, running, caches }
}

describe('ServedKinds', () => {
  it('caches begin to fill at once if the API server serves their kinds', async () => {
    const { clock, log, ran, caches } = begin(() => BOTH)
    await clock.settle()
    expect(ran).toEqual(['contents', 'classes'])
    expect(log.lines).toEqual([])
    expect(caches[0]).toMatchObject({ name: 'contents', silentForMs: 7 })
  })

  it('a kind that the API server lacks delays the caches, and is logged once a minute', async () => {
    let answer: unknown
    const { clock, log, ran, caches } = begin(() => {
      if (answer === undefined) throw NOT_FOUND
      return answer
    })
    await clock.advance(125_000)
    expect(log.lines).toHaveLength(3)
    expect(log.lines[0]).toMatchObject({ pairs: { kind: 'volumesnapshotcontents.snapshot.storage.k8s.io' } })
    expect(caches[0]?.name).toBe(
      'contents (the API server does not serve volumesnapshotcontents.snapshot.storage.k8s.io)',
    )
    expect(caches[0]?.silentForMs).toBeLessThan(10_000)
    answer = { resources: [{ name: 'volumesnapshotcontents' }] }
    await clock.advance(6_000)
    expect(caches[0]?.name).toContain('volumesnapshotclasses')
    expect(ran).toEqual([])
    answer = BOTH
    await clock.advance(6_000)
    expect(ran).toEqual(['contents', 'classes'])
    expect(caches[0]?.name).toBe('contents')
  })

  it('caches begin to fill at once if the client may not read which kinds the API server serves', async () => {
    const { clock, ran } = begin(() => {
      throw new ApiError({ code: 403, reason: 'Forbidden', message: 'no' })
    })
    await clock.settle()
    expect(ran).toEqual(['contents', 'classes'])
  })

  it('the process asks an unreachable API server for its kinds again, and logs nothing', async () => {
    const { clock, log, ran } = begin(() => {
      throw new ApiError({ code: 0, reason: '', message: 'connection refused' })
    })
    await clock.advance(125_000)
    expect(log.lines).toEqual([])
    expect(ran).toEqual([])
  })

  it('the wait for a missing kind ends when the signal is aborted', async () => {
    const { clock, stop, running } = begin(() => {
      throw NOT_FOUND
    })
    await clock.settle()
    stop.abort(new CancelledError('the process is ending'))
    expect((await running).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })
})

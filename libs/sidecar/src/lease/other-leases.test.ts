import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, type KubeClient } from '@csi-sidecars/kube-client'
import type { Lease, ObjectRef } from '@csi-sidecars/kube-types'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { OtherLeases } from './other-leases.ts'

const DURATION_S = 15

let clock: FakeClock
let log: RecordingLogger
let stop: AbortController
/** The holder of each Lease. Other Leases do not exist. */
let holders: Map<string, string>
let failing: boolean
let others: OtherLeases

function leaseOf(name: string): Lease {
  const holderIdentity = holders.get(name)
  if (failing) throw new ApiError({ code: 403, reason: 'Forbidden', message: 'not allowed' })
  if (holderIdentity === undefined) throw new ApiError({ code: 404, reason: 'NotFound', message: 'not found' })
  return {
    metadata: { name, uid: name, resourceVersion: '1' },
    spec: { holderIdentity, leaseDurationSeconds: DURATION_S },
  } as Lease
}

beforeEach(() => {
  clock = new FakeClock()
  log = recordingLogger()
  stop = new AbortController()
  holders = new Map()
  failing = false
  others = new OtherLeases({
    client: { get: async (_: unknown, { name }: ObjectRef) => leaseOf(name) } as unknown as KubeClient,
    namespace: 'storage',
    names: ['left', 'right'],
    identity: 'me',
    periodMs: 5_000,
    leaseDurationMs: DURATION_S * 1000,
    clock,
    log,
  })
})

const lines = (): unknown[] => log.lines.map(({ message, pairs }) => [message, pairs['lease']])

describe('the wait before the first term', () => {
  let free: boolean
  const wait = (): void => {
    free = false
    others.whenFree(stop.signal).then(
      () => {
        free = true
      },
      () => undefined,
    )
  }

  it.each([
    ['no other lease exists', undefined],
    ['the other leases were released', ''],
    ['this host held the other leases', 'me'],
  ])('the first leader term of the process begins at once if %s', async (_, holder) => {
    if (holder !== undefined) holders.set('left', holder)
    wait()
    await clock.settle()
    expect(free).toBe(true)
  })

  it('the process reports its wait when it finds a lease that another sidecar holds', async () => {
    let waits = false
    others.whenWaiting.then(
      () => {
        waits = true
      },
      () => undefined,
    )
    holders.set('right', 'original')
    await clock.settle()
    expect(waits).toBe(false)
    wait()
    await clock.settle()
    expect([waits, free]).toEqual([true, false])
  })

  it('the first leader term waits for the lease of another sidecar, and one log line reports the wait', async () => {
    holders.set('right', 'original')
    wait()
    await clock.advance(14_000)
    expect([free, lines()]).toEqual([false, [['Waiting for a lease of another sidecar', 'right (original)']]])
    await clock.advance(2_000)
    expect(free).toBe(true)
  })

  it('the first leader term waits if the process may not read the lease of another sidecar', async () => {
    failing = true
    wait()
    await clock.advance(60_000)
    expect([free, lines()]).toEqual([false, [['Waiting for a lease of another sidecar', 'left (not allowed)']]])
    stop.abort(new CancelledError('stop'))
    await clock.settle()
    expect(clock.pending).toBe(0)
  })
})

it('a leader logs once a minute that another sidecar has taken back its lease', async () => {
  const watching = others.watch(stop.signal)
  await clock.advance(60_000)
  expect(lines()).toEqual([])
  holders.set('left', 'original')
  await clock.advance(60_000)
  expect(lines()).toEqual([['A lease of another sidecar is held: two may act for the same volumes', 'left (original)']])
  stop.abort(new CancelledError('stop'))
  await watching
})

it('a leader logs nothing about the lease of another sidecar that the leader cannot read', async () => {
  failing = true
  const watching = others.watch(stop.signal)
  await clock.advance(120_000)
  expect(lines()).toEqual([])
  stop.abort(new CancelledError('stop'))
  await watching
})

import { CancelledError, inPhase, type RunPhase } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { RpcError } from '@csi-sidecars/csi'
import { ApiError } from '@csi-sidecars/kube-client'
import { Metrics } from '@csi-sidecars/telemetry'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { Backlog } from './backlog.ts'
import { type AnyController, type Outcome, type Run, SETTLED, WORK_COMPLETED } from './controller.ts'
import type { PendingWork, WorkSubject } from './pending.ts'
import type { Enqueuer } from './sources.ts'
import { runTerm } from './term.ts'

const NOW = 1_700_000_000_000

let clock: FakeClock
let metrics: Metrics
let backlog: Backlog
let queue: Enqueuer<string>
let stop: AbortController
let ended: Promise<void>
let completed: string[]
let subject: WorkSubject | undefined
let reconcile: (key: string, run: Run<string>) => Promise<Outcome>

beforeEach(async () => {
  clock = new FakeClock({ now: NOW })
  metrics = new Metrics()
  backlog = new Backlog({ driver: 'd', clock, metrics })
  stop = new AbortController()
  completed = []
  subject = { operation: 'attach' }
  reconcile = async () => SETTLED
  const controller: AnyController = {
    name: 'q',
    workers: 1,
    backoff: { baseMs: 1000, maxMs: 8000 },
    caches: [],
    sources: [
      (started) => {
        queue = started
        return () => undefined
      },
    ],
    reconcile: (key, run) => reconcile(key, run),
    wakers: { volume: { object: 'PersistentVolume', reason: 'VolumeNotUsable', source: () => () => undefined } },
    pending: {
      sidecar: 's',
      subject: (key) => (key === 'idle' ? undefined : subject),
    },
    onComplete: (key, { operation }, since) => completed.push(`${operation} ${key} since ${since - NOW}`),
    callsDriver: false,
  }
  const signals = { stop: stop.signal, cancelRuns: stop.signal }
  ended = runTerm({ ...signals, assertLeading: () => undefined, soleSince: 0 }, [controller], { clock, backlog })
  await clock.settle()
})
afterEach(async () => {
  stop.abort(new CancelledError('the test is over'))
  await ended
  expect([...backlog.pending()]).toEqual([])
})

const pending = (): PendingWork[] => [...backlog.pending()]
const only = (): PendingWork => {
  const [work, ...others] = pending()
  if (work === undefined || others.length > 0) throw new Error(`${others.length + 1} are pending`)
  return work
}
async function add(...keys: readonly string[]): Promise<void> {
  for (const key of keys) queue.add(key)
  await clock.settle()
}
const forever = (): Promise<Outcome> =>
  new Promise((_, reject) => stop.signal.addEventListener('abort', () => reject(stop.signal.reason)))

describe('failing keys', () => {
  const unavailable = new Error('failed to attach', { cause: new RpcError(14, 'no') })

  test('the report shows age, tries, last error and next try of a failing key until a run succeeds', async () => {
    let outcome: Outcome = { kind: 'retry', cause: unavailable }
    reconcile = async () => outcome
    await add('a')
    await clock.advance(1500)
    expect(only()).toEqual({
      operation: 'attach',
      sidecar: 's',
      key: 'a',
      queue: 'q',
      state: 'backoff',
      reason: 'Unavailable',
      since: NOW,
      stuck: false,
      tries: 2,
      code: 'Unavailable',
      message: 'failed to attach',
      waitsFor: [],
      nextTry: NOW + 3000,
    })
    outcome = SETTLED
    await clock.advance(1500)
    expect(pending()).toEqual([])
  })

  test('the report marks a failing key as stuck after two minutes', async () => {
    reconcile = async () => ({ kind: 'retry', cause: unavailable })
    await add('a')
    await clock.advance(119_999)
    expect(only().stuck).toBe(false)
    await clock.advance(1)
    expect(only().stuck).toBe(true)
  })

  test('new work for a finished key gets a new age in the report', async () => {
    await add('a')
    await clock.advance(5000)
    reconcile = async () => ({ kind: 'retry', cause: unavailable })
    await add('a')
    expect(only()).toMatchObject({ since: NOW + 5000, tries: 1 })
  })

  test('the report resets age and tries when a key gets different work or its object is deleted', async () => {
    reconcile = async () => ({ kind: 'retry', cause: unavailable })
    await add('a')
    await clock.advance(500)
    queue.forgetHistory('a')
    expect(only()).toMatchObject({ since: NOW + 500, tries: 0, message: undefined })
    await clock.advance(1000)
    queue.forget('a')
    expect(only()).toMatchObject({ since: NOW + 1500, tries: 0, message: undefined })
  })

  test.each<[string, unknown, string, string | undefined]>([
    ['the driver', unavailable, 'Unavailable', 'Unavailable'],
    ['the driver with an unknown code', new RpcError(99, 'no'), 'Unknown', 'Code(99)'],
    ['the API server', new ApiError({ code: 409, reason: 'Conflict', message: 'x' }), 'APIConflict', 'Conflict'],
    ['a webhook', new ApiError({ code: 400, reason: 'NotOnMyWatch', message: 'x' }), 'APIRefused', 'NotOnMyWatch'],
    ['an unreachable API server', new ApiError({ code: 0, reason: '', message: 'x' }), 'APIUnreachable', undefined],
    [
      'the API server about a Secret',
      new ApiError({ code: 404, reason: 'NotFound', message: 'x', details: { kind: 'secrets' } }),
      'SecretNotFound',
      'NotFound',
    ],
    ['this process', new Error('x'), 'Failed', undefined],
  ])('the report shows a short reason for an error of %s', async (_, cause, reason, code) => {
    reconcile = async () => ({ kind: 'retry', cause })
    await add('a')
    expect(only()).toMatchObject({ reason, code })
  })

  test('the report contains at most 512 characters of the error message', async () => {
    reconcile = async () => ({ kind: 'retry', cause: new Error('x'.repeat(2000)) })
    await add('a')
    expect(only().message).toHaveLength(512)
  })

  test('the report shows the obstacle of the work if the error of the run has no reason', async () => {
    subject = { operation: 'attach', obstacle: 'CSINodeMissing' }
    reconcile = async () => ({ kind: 'retry', cause: new Error('x') })
    await add('a')
    expect(only().reason).toBe('CSINodeMissing')
  })
})

describe('waiting keys', () => {
  test.each<[string, Outcome]>([
    ['settled', SETTLED],
    ['blocked', { kind: 'blocked', cause: new Error('the volume is gone') }],
  ])('the report lists a %s key that waits for a cause, until that cause comes', async (kind, outcome) => {
    reconcile = async (_, run) => {
      run.waitFor({ kind: 'volume', name: 'pv' })
      return outcome
    }
    await add('a')
    await clock.advance(500)
    expect(only()).toMatchObject({
      state: 'waiting',
      reason: 'VolumeNotUsable',
      since: NOW,
      stuck: kind === 'blocked',
      waitsFor: ['PersistentVolume pv'],
      nextTry: undefined,
    })
    reconcile = async (_, run) => {
      run.stopWaiting()
      return SETTLED
    }
    queue.wake({ kind: 'volume', name: 'pv' })
    await clock.settle()
    expect(pending()).toEqual([])
  })

  test('a blocked key no longer counts as stuck after a run with the outcome `retry`', async () => {
    reconcile = async (_, run) => {
      run.waitFor({ kind: 'volume', name: 'pv' })
      return { kind: 'blocked', cause: new Error('the volume is gone') }
    }
    await add('a')
    reconcile = async () => ({ kind: 'retry', cause: new Error('no') })
    queue.wake({ kind: 'volume', name: 'pv' })
    await clock.settle()
    expect(only()).toMatchObject({ stuck: false, nextTry: NOW + 1000 })
  })
})

describe('running keys', () => {
  test.each<[RunPhase | undefined, string, string, readonly string[]]>([
    [undefined, 'deciding', 'Reading', []],
    ['calling', 'calling', 'DriverCall', ['CSI driver']],
    ['writing', 'writing', 'APIWrite', ['API server']],
  ])('the report shows a running key in the phase %s as %s', async (phase, state, reason, waitsFor) => {
    reconcile = async (_, run) => {
      return await (phase === undefined ? forever() : inPhase(phase, run.signal, forever))
    }
    await add('a', 'b')
    const [a, b] = pending()
    expect(a).toMatchObject({ key: 'a', state, reason, waitsFor, tries: 1 })
    expect(b).toMatchObject({ key: 'b', state: 'queued', reason: 'NoWorkerFree', waitsFor: [], tries: 0 })
    expect(await backlog.depths(new AbortController().signal)).toEqual(new Map([['q', { waiting: 1, inWork: 1 }]]))
  })

  test('the report does not list a running key that has no pending work', async () => {
    reconcile = forever
    await add('idle')
    expect(pending()).toEqual([])
  })
})

describe('the age', () => {
  test.each([
    ['the addition of the key', undefined, NOW],
    ['the addition of the key within the second of the API', NOW / 1000, NOW],
    ['the end of the second of the API if the key was added later', NOW / 1000 - 60, NOW - 60_001 + 1000],
    ['now if the time of the API is in the future', NOW / 1000 + 5, NOW],
  ])('the age of work counts from %s', async (_, sinceSeconds, since) => {
    subject = { operation: 'detach', sinceSeconds }
    reconcile = forever
    await add('a')
    expect(only().since).toBe(since)
  })
})

describe('metrics', () => {
  const value = async (series: string): Promise<number | undefined> => {
    const line = (await metrics.text()).split('\n').find((each) => each.startsWith(`${series} `))
    return line === undefined ? undefined : Number(line.slice(series.length + 1))
  }

  test('metrics count only pending keys, and show the age of the oldest key', async () => {
    reconcile = async () => ({ kind: 'retry', cause: new RpcError(14, 'no') })
    await add('a')
    await clock.advance(500)
    await add('b', 'idle')
    const labels = '{driver_name="d",operation="attach",reason="Unavailable",state="backoff"}'
    expect(await value(`csi_sidecar_pending_work${labels}`)).toBe(2)
    expect(await value(`csi_sidecar_pending_work_oldest_seconds${labels}`)).toBe(0.5)
    const stuck = 'csi_sidecar_stuck_work{driver_name="d",operation="attach",reason="Unavailable"}'
    expect(await value(stuck)).toBe(0)
    await clock.advance(200_000)
    expect(await value(stuck)).toBe(2)
    reconcile = async () => SETTLED
    await clock.advance(8000)
    expect(await value(stuck)).toBeUndefined()
    expect(await value(`csi_sidecar_pending_work${labels}`)).toBeUndefined()
  })

  test('metrics show the duration of completed work and its wait for the first run', async () => {
    subject = { operation: 'attach', sinceSeconds: NOW / 1000 - 5 }
    reconcile = async () => {
      await clock.sleep(2000)
      return WORK_COMPLETED
    }
    await add('a')
    await clock.advance(2000)
    const sum = (name: string): Promise<number | undefined> =>
      value(`csi_sidecar_work_${name}_sum{driver_name="d",operation="attach"}`)
    expect(await sum('duration_seconds')).toBeCloseTo(6.001)
    expect(await sum('wait_seconds')).toBeCloseTo(4.001)
    expect(completed).toEqual(['attach a since -4001'])
  })

  test.each<[string, Outcome]>([
    ['settled without `completesWork`', SETTLED],
    ['retry', { kind: 'retry', cause: new Error('no') }],
  ])('metrics do not count work as completed after the outcome %s', async (_, outcome) => {
    reconcile = async () => outcome
    await add('a')
    expect(completed).toEqual([])
  })
})

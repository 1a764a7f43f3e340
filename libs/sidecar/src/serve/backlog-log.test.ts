import { FakeClock } from '@csi-sidecars/base/testing'
import { Backlog, type PendingWork } from '@csi-sidecars/controller'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { logBacklog } from './backlog-log.ts'

const work = (key: string, change: Partial<PendingWork> = {}): PendingWork => ({
  sidecar: 'external-attacher',
  key,
  queue: 'csi-attacher-va',
  operation: 'detach',
  object: { kind: 'VolumeAttachment', namespace: '', name: key, uid: 'u' },
  volume: 'pv',
  node: 'n',
  state: 'backoff',
  reason: 'Internal',
  since: clock.now(),
  stuck: false,
  tries: 4,
  message: 'no',
  waitsFor: [],
  ...change,
})

let clock: FakeClock
let log: RecordingLogger
let backlog: Backlog
let pending: PendingWork[]
let end: () => void
beforeEach(() => {
  clock = new FakeClock()
  log = recordingLogger()
  pending = []
  backlog = new Backlog({ driver: 'd', clock, metrics: new Metrics() })
  backlog.join(() => pending)
})
afterEach(() => {
  end()
  expect(clock.pending).toBe(0)
})

const begin = (intervalMs = 30_000): void => {
  end = logBacklog(backlog, { clock, log }, intervalMs)
}
const loggedLines = (): unknown[] => log.lines.splice(0).map(({ message, pairs }) => [message, pairs])

test('the log shows the number of waiting keys of each queue while work waits', async () => {
  begin()
  pending = [work('a'), work('b'), work('c', { state: 'calling' }), work('pv', { queue: 'csi-attacher-pv' })]
  await clock.advance(29_999)
  expect(loggedLines()).toEqual([])
  await clock.advance(1)
  expect(loggedLines()).toEqual([['Work is waiting', { 'csi-attacher-va': 2, 'csi-attacher-pv': 1 }]])
  await clock.advance(30_000)
  expect(loggedLines()).toHaveLength(1)
})

test.each<[string, Partial<PendingWork>]>([
  ['is in work', { state: 'calling' }],
  ['is done by others', { queue: undefined, state: 'waiting' }],
])('the log shows no queue if all pending work %s', async (_, change) => {
  begin()
  pending = [work('a', change)]
  await clock.advance(90_000)
  expect(loggedLines()).toEqual([])
})

test('the log omits the queues if their interval is 0, but still shows stuck objects', async () => {
  begin(0)
  pending = [work('a', { stuck: true })]
  await clock.advance(60_000)
  expect(loggedLines()).toEqual([
    [
      'Work is stuck',
      {
        operation: 'detach',
        kind: 'VolumeAttachment',
        object: expect.objectContaining({ name: 'a' }),
        volume: 'pv',
        node: 'n',
        state: 'backoff',
        reason: 'Internal',
        age: '60s',
        tries: 4,
        err: 'no',
      },
    ],
  ])
})

test('an error in a report of pending work is logged, and the next report follows', async () => {
  begin()
  const depths = backlog.depths
  backlog.depths = () => Promise.reject(new Error('no depths'))
  await clock.advance(30_000)
  expect(log.lines.splice(0)).toMatchObject([{ level: 'error', message: 'The pending work could not be logged' }])
  backlog.depths = depths
  pending = [work('a')]
  await clock.advance(30_000)
  expect(loggedLines()).toEqual([['Work is waiting', { 'csi-attacher-va': 1 }]])
})

test('the log has a line for each of a hundred stuck objects, and one line with the number of other objects', async () => {
  begin(0)
  pending = Array.from({ length: 130 }, (_, index) => work(`${index}`, { stuck: true }))
  await clock.advance(60_000)
  const lines = loggedLines()
  expect(lines).toHaveLength(101)
  expect(lines.at(-1)).toEqual(['More work is stuck', { objects: 30 }])
})

import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import { Backlog, type PendingWork } from '@csi-sidecars/controller'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { Event } from '@csi-sidecars/kube-types'
import { Metrics } from '@csi-sidecars/telemetry'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from '../testing/api-error.ts'
import { ATTACHMENT_EVENTS } from '../volume-attachment/events.ts'
import { EventPermission, FailureReporter } from './failure-reporter.ts'

let clock: FakeClock
let log: RecordingLogger
let metrics: Metrics
let backlog: Backlog
let pending: PendingWork[]
let requests: string[]
let answer: (request: string) => Promise<void>
let priorities: unknown[]
let permission: EventPermission
let stop: AbortController
let ended: Promise<void>
let reporter: FailureReporter

beforeEach(() => {
  clock = new FakeClock()
  log = recordingLogger()
  metrics = new Metrics()
  backlog = new Backlog({ driver: 'd', clock, metrics })
  pending = []
  backlog.join(() => pending)
  requests = []
  priorities = []
  answer = async () => undefined
  permission = new EventPermission()
  begin()
})
afterEach(async () => {
  stop.abort(new CancelledError('the test is over'))
  await ended
  expect(clock.pending).toBe(0)
})

function begin(): void {
  stop = new AbortController()
  const serve = async <T>(request: string, options: { priority?: string }, result: T): Promise<T> => {
    requests.push(request)
    priorities.push(options.priority)
    await answer(request)
    return result
  }
  const api = {
    get: (_: unknown, { name }: { name: string }, options: object) => {
      const claimRef = { namespace: 'ns', name: 'claim', uid: 'claim-uid' }
      return serve(`get ${name}`, options, { spec: name === 'unclaimed' ? {} : { claimRef } })
    },
    create: (_: unknown, event: Event, options: object) => {
      const { involvedObject: on, reason, count, message } = event
      return serve(`create ${on.kind} ${on.name} ${reason} x${count}: ${message}`, options, event)
    },
    patch: (_: unknown, __: unknown, { body }: { body: Event }, options: object) =>
      serve(`patch x${body.count}: ${body.message}`, options, {
        ...body,
        metadata: { name: 'e', namespace: 'ns' },
      }),
  } as unknown as KubeClient
  reporter = new FailureReporter({ api, backlog, permission, texts: ATTACHMENT_EVENTS, driverName: 'd', clock, log })
  ended = reporter.run(stop.signal)
}

const work = (name: string, change: Partial<PendingWork> = {}): PendingWork => ({
  sidecar: 'external-attacher',
  key: name,
  operation: 'attach',
  object: { kind: 'VolumeAttachment', namespace: '', name, uid: name },
  volume: 'pv',
  node: 'n',
  state: 'backoff',
  reason: 'Internal',
  since: clock.now() - 20_000,
  stuck: false,
  tries: 3,
  message: 'failed to attach: no',
  waitsFor: [],
  nextTry: 1,
  ...change,
})

const MESSAGE = 'Volume pv on node n: failed to attach: no'

describe('attach', () => {
  it('a failing attach has one event for the attachment and one for the claim, with growing counts', async () => {
    pending = [work('a')]
    await clock.advance(5_000)
    expect(requests.splice(0)).toEqual([
      `create VolumeAttachment a VolumeAttachFailed x3: ${MESSAGE}`,
      'get pv',
      `create PersistentVolumeClaim claim VolumeAttachFailed x3: ${MESSAGE}`,
    ])
    pending = [work('a', { tries: 9 })]
    await clock.advance(59_999)
    expect(requests).toEqual([])
    await clock.advance(5_000)
    expect(requests).toEqual([`patch x9: ${MESSAGE}`, `patch x9: ${MESSAGE}`])
    expect(priorities).not.toContain(undefined)
  })

  it('a recovered attach causes one recovery event about the attachment and one about the claim', async () => {
    pending = [work('a')]
    await clock.advance(5_000)
    pending = []
    requests.splice(0)
    reporter.completed(work('a'))
    await clock.advance(60_000)
    const well = 'VolumeAttachSuccessful x1: Volume pv on node n: attached after 3 failures'
    expect(requests).toEqual([`create VolumeAttachment a ${well}`, `create PersistentVolumeClaim claim ${well}`])
  })

  it('a failing attach of a volume without a claim causes an event about the attachment alone', async () => {
    pending = [work('a', { volume: 'unclaimed' })]
    await clock.advance(5_000)
    expect(requests).toHaveLength(2)
  })

  it('an attachment that recovers before its event is written gets no event', async () => {
    pending = ['a', 'b', 'c', 'd'].map((name) => work(name, { volume: 'unclaimed' }))
    answer = async (request) => {
      if (request.startsWith('create VolumeAttachment a ')) reporter.completed(work('c'))
    }
    await clock.advance(5_999)
    const written = requests.filter((each) => each.startsWith('create')).map((each) => each.split(' ')[2])
    expect(written).toEqual(['a', 'b', 'd'])
  })

  it('a recovered attach causes no recovery event if no failure event was written', async () => {
    reporter.completed(work('a'))
    await clock.advance(10_000)
    expect(requests).toEqual([])
  })
})

describe('detach', () => {
  it.each<[string, Partial<PendingWork>, string]>([
    ['fails', {}, 'VolumeDetachFailed x3: Volume unclaimed on node n: failed to detach: no'],
    [
      'is blocked',
      { state: 'waiting', nextTry: undefined },
      'VolumeDetachBlocked x3: Volume unclaimed on node n: failed to detach: no. Not tried again until that changes',
    ],
  ])('a detach that %s causes an event with the reason of the failure', async (_, change, text) => {
    pending = [work('a', { operation: 'detach', message: 'failed to detach: no', volume: 'unclaimed', ...change })]
    await clock.advance(5_000)
    expect(requests).toEqual([`create VolumeAttachment a ${text}`, 'get unclaimed'])
  })
})

describe('rate', () => {
  it('ten thousand failures cause five events a second, and a metric counts the skipped events', async () => {
    pending = Array.from({ length: 10_000 }, (_, index) => work(`${index}`))
    const written = (): number => requests.filter((each) => each.startsWith('create')).length
    await clock.advance(5_999)
    expect(written()).toBeLessThanOrEqual(10)
    await clock.advance(75_000)
    const writes = requests.filter((each) => each.startsWith('create'))
    expect(writes.length).toBeGreaterThan(100)
    expect(writes.length).toBeLessThanOrEqual(5 * 81 + 5)
    const [, skipped] = /^csi_sidecar_events_skipped_total\{driver_name="d"\} (\d+)$/m.exec(await metrics.text()) ?? []
    expect(Number(skipped)).toBeGreaterThan(9_800)
  })
})

describe('refusals', () => {
  const refused = apiError(403, 'Forbidden', 'events is forbidden')

  it('a refused event causes one warning and then no events for ten minutes, even if the Lease is lost', async () => {
    answer = async (request) => {
      if (request.startsWith('create')) throw refused
    }
    pending = [work('a'), work('b')]
    await clock.advance(300_000)
    stop.abort(new CancelledError('the lease is lost'))
    await ended
    begin()
    await clock.advance(300_000)
    expect(requests.filter((each) => each.startsWith('create'))).toHaveLength(1)
    await clock.advance(60_000)
    expect(requests.filter((each) => each.startsWith('create')).length).toBeGreaterThan(1)
    const message = 'Events about attaching and detaching may not be written'
    expect(log.lines.filter(({ level }) => level === 'warning')).toEqual([
      { level: 'warning', message, pairs: { err: refused } },
    ])
  })

  it('if an event is refused because its namespace is being deleted, other events are still written', async () => {
    answer = async (request) => {
      if (request.startsWith('create PersistentVolumeClaim')) {
        const error = apiError(403, 'Forbidden', 'x')
        throw Object.assign(error, { details: { causes: [{ reason: 'NamespaceTerminating' }] } })
      }
    }
    pending = [work('a'), work('b')]
    await clock.advance(5_000)
    expect(requests.filter((each) => each.startsWith('create VolumeAttachment'))).toHaveLength(2)
    expect(log.lines.filter(({ level }) => level === 'warning')).toEqual([])
  })

  it('an event is tried again in the next minute after an internal error of the API server', async () => {
    answer = async () => {
      throw apiError(500, 'InternalError', 'x')
    }
    pending = [work('a')]
    await clock.advance(5_000)
    answer = async () => undefined
    pending = [work('a', { tries: 5 })]
    await clock.advance(65_000)
    expect(requests.at(-1)).toBe(`create PersistentVolumeClaim claim VolumeAttachFailed x5: ${MESSAGE}`)
  })
})

import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, type KubeClient } from '@csi-sidecars/kube-client'
import type { Event } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { EventText } from './event.ts'
import { createRecorder, type Recorder } from './recorder.ts'

const target = (name: string): { apiVersion: string; kind: string; name: string; namespace: string } => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  name,
  namespace: 'ns',
})
const apiError = (code: number, reason: string): ApiError => new ApiError({ code, reason, message: reason })

let clock: FakeClock
let log: ReturnType<typeof recordingLogger>
let requests: string[]
let answer: (verb: 'create' | 'patch') => Promise<void>
let recorder: Recorder

beforeEach(() => {
  clock = new FakeClock()
  log = recordingLogger()
  requests = []
  answer = async () => {}
  const serve = async <T>(verb: 'create' | 'patch', object: Event): Promise<T> => {
    requests.push(`${verb} ${object.message}`)
    await answer(verb)
    return object as T
  }
  const client = {
    create: <T>(_: unknown, object: T) => serve<T>('create', object as Event),
    patch: <T>(_: unknown, __: unknown, patch: { body: unknown }) => serve<T>('patch', patch.body as Event),
  } as unknown as KubeClient
  recorder = createRecorder({ client, component: 'c', clock, log })
})

const record = (message: string, name = 'claim', text: Partial<EventText> = {}): void =>
  recorder.event(target(name), { type: 'Normal', reason: 'Resizing', message, ...text })

describe('createRecorder', () => {
  it('the recorder writes the events of one object in order, and increments the count of a repeated event', async () => {
    record('one')
    record('two')
    record('one')
    await recorder.flush()
    expect(requests).toEqual(['create one', 'create two', 'patch one'])
  })

  it('the recorder creates a repeated event again if the first event has expired', async () => {
    record('one')
    await recorder.flush()
    answer = (verb) => (verb === 'patch' ? Promise.reject(apiError(404, 'NotFound')) : Promise.resolve())
    record('one')
    await recorder.flush()
    expect(requests).toEqual(['create one', 'patch one', 'create one'])
    expect(log.lines).toEqual([])
  })

  it('the recorder writes events of several objects in parallel', async () => {
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    record('one', 'a')
    record('two', 'b')
    await clock.settle()
    expect(requests).toEqual(['create one', 'create two'])
    gate.resolve()
    await recorder.flush()
  })

  it('the recorder writes at most two events at a time', async () => {
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    for (let i = 0; i < 100; i += 1) record('one', `claim-${i}`)
    await clock.settle()
    expect(requests).toHaveLength(2)
    gate.resolve()
    await recorder.flush()
    expect(requests).toHaveLength(100)
  })

  it('a later event about an object replaces an event that still waits to be written', async () => {
    const gate = Promise.withResolvers<void>()
    answer = () => gate.promise
    for (const claim of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'late', 'slow']) {
      record(`${claim} begins`, claim, { replaceable: true })
    }
    await clock.settle()
    for (const claim of ['a', 'late']) record(`${claim} ends`, claim)
    gate.resolve()
    await recorder.flush()
    expect(requests.slice(8).toSorted()).toEqual(['create a ends', 'create late ends', 'create slow begins'])
    expect(requests.indexOf('create a begins')).toBe(0)
    expect(log.lines).toEqual([])
  })

  it('an event that waits for an unreachable API server does not block other events', async () => {
    answer = () => Promise.reject(apiError(0, ''))
    for (let i = 0; i < 20; i += 1) record('one', `claim-${i}`)
    await clock.settle()
    expect(requests).toHaveLength(20)
    answer = async () => {}
    await clock.advance(10_000)
    await recorder.flush()
    expect(requests).toHaveLength(40)
    expect(log.lines).toEqual([])
  })

  it('the recorder tries to write to an unreachable API server twelve times, every ten seconds', async () => {
    answer = () => Promise.reject(apiError(0, ''))
    record('one')
    await clock.advance(109_999)
    expect(requests).toHaveLength(11)
    await clock.advance(1)
    expect(requests).toHaveLength(12)
    await clock.advance(60_000)
    expect(requests).toHaveLength(12)
    expect(log.lines).toHaveLength(1)
  })

  it('the recorder does not retry a refused event, and logs each kind of refusal once', async () => {
    answer = () => Promise.reject(apiError(403, 'Forbidden'))
    record('one')
    record('two')
    await recorder.flush()
    expect(requests).toEqual(['create one', 'create two'])
    expect(log.lines).toMatchObject([{ level: 'error', message: 'Server rejected event (will not retry!)' }])
  })

  it('the recorder remembers a hundred kinds of refusals, and logs an older kind again', async () => {
    let objects = 0
    const refuse = async (kind: number): Promise<void> => {
      answer = () => Promise.reject(apiError(403, `Forbidden at ${kind}`))
      // Each object has a limit of events.
      objects += 1
      record('one', `claim-${objects}`)
      await recorder.flush()
    }
    for (let kind = 0; kind <= 100; kind += 1) await refuse(kind)
    await refuse(100)
    expect(log.lines).toHaveLength(101)
    await refuse(0)
    expect(log.lines).toHaveLength(102)
  })

  it('the recorder drops events beyond its limit of unwritten events', async () => {
    answer = () => new Promise(() => {})
    for (let i = 0; i < 10_001; i += 1) record('one', `claim-${i}`)
    expect(log.lines).toMatchObject([{ message: 'Too many events are waiting, event dropped' }])
  })
})

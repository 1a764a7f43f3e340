import { FakeClock } from '@csi-sidecars/base/testing'
import type { Event } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Correlated, Correlator } from './correlator.ts'
import type { Occurrence } from './event.ts'

const target = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  name: 'c',
  namespace: 'ns',
  uid: 'u',
  resourceVersion: '7',
}
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

let random: number
let clock: FakeClock
let correlator: Correlator
beforeEach(() => {
  random = 0
  clock = new FakeClock({ now: NOW, random: () => random })
  correlator = new Correlator('external-resizer csi.example.com', clock)
})

const occurrence = (message: string, change: Partial<Occurrence> = {}): Occurrence => ({
  target,
  type: 'Warning',
  reason: 'VolumeResizeFailed',
  message,
  ...change,
})

/** Correlates an occurrence and marks its Event as stored, as the recorder does after a successful write. */
function record(message: string, change: Partial<Occurrence> = {}): Correlated {
  const correlated = correlator.correlate(occurrence(message, change))
  if (correlated.kind !== 'drop') correlator.recordStored(correlated.report, correlated.event)
  return correlated
}

const eventOf = (correlated: Correlated): Event => {
  if (correlated.kind === 'drop') throw new Error('dropped')
  return correlated.event
}

describe('new events', () => {
  it('each event gets a unique name, even if another writer creates an event in the same millisecond', () => {
    const names = [0.25, 0.5].map((chance) => {
      random = chance
      const another = new Correlator('another', clock)
      return eventOf(another.correlate(occurrence('boom'))).metadata.name
    })
    const start = BigInt(NOW) * 1_000_000n
    expect(names).toEqual([250_000n, 500_000n].map((offset) => `c.${(start + offset).toString(16)}`))
  })

  it('the name of an event is valid even for the longest name of an object', () => {
    const long = `${'a'.repeat(235)}-b.${'c'.repeat(14)}`
    const { name } = eventOf(record('boom', { target: { ...target, name: long } })).metadata
    expect(name).toBe(`${'a'.repeat(235)}.${(BigInt(NOW) * 1_000_000n).toString(16)}`)
    expect(name?.length).toBeLessThanOrEqual(253)
  })

  it('a new event sets each field that an event must have, except its kind', () => {
    expect(eventOf(record('boom'))).toEqual({
      metadata: { name: `c.${(BigInt(NOW) * 1_000_000n).toString(16)}`, namespace: 'ns' },
      involvedObject: target,
      reason: 'VolumeResizeFailed',
      message: 'boom',
      type: 'Warning',
      source: { component: 'external-resizer csi.example.com' },
      firstTimestamp: '2026-01-02T03:04:05Z',
      lastTimestamp: '2026-01-02T03:04:05Z',
      count: 1,
      reportingComponent: 'external-resizer csi.example.com',
      reportingInstance: '',
    })
  })

  it('an event about an object without a namespace is in `default`', () => {
    const { namespace: _, ...clusterWide } = target
    expect(eventOf(record('boom', { target: clusterWide })).metadata.namespace).toBe('default')
  })

  it('two events within the same millisecond have different names', () => {
    const names = ['a', 'b', 'c'].map((message) => eventOf(record(message)).metadata.name)
    expect(new Set(names).size).toBe(3)
  })
})

describe('repeated events', () => {
  it('a repeated event increments the count and updates the last time', async () => {
    const first = eventOf(record('boom'))
    await clock.advance(61_000)
    const again = record('boom')
    expect(again).toMatchObject({
      kind: 'repeat',
      patch: { kind: 'strategic', body: { count: 2, lastTimestamp: '2026-01-02T03:05:06Z', message: 'boom' } },
      event: { metadata: first.metadata, firstTimestamp: '2026-01-02T03:04:05Z', count: 2 },
    })
    expect(record('boom')).toMatchObject({ patch: { body: { count: 3 } } })
  })

  it('a repeated event is created as a new event while the first event is not stored', () => {
    correlator.correlate(occurrence('boom'))
    expect(correlator.correlate(occurrence('boom')).kind).toBe('create')
  })

  it('a repeated event is created as a new event after events of 4,096 other objects', () => {
    const others = (count: number): void => {
      for (let i = 0; i < count; i += 1) record('boom', { target: { ...target, name: `other-${i}` } })
    }
    record('boom')
    others(4095)
    expect(record('boom').kind).toBe('repeat')
    others(4096)
    expect(record('boom').kind).toBe('create')
  })

  it.each([
    ['another reason', { reason: 'Resizing' }],
    ['another type', { type: 'Normal' as const }],
    ['another object', { target: { ...target, name: 'd' } }],
    ['a recreated object', { target: { ...target, uid: 'v' } }],
  ])('an event with %s does not count as a repeated event', (_, change) => {
    record('boom')
    expect(record('boom', change).kind).toBe('create')
  })
})

describe('similar events', () => {
  it('similar events of one object are merged from the tenth different message on', () => {
    const results = Array.from({ length: 12 }, (_, i) => record(`boom ${i}`))
    expect(results.map((each) => each.kind)).toEqual([...Array(10).fill('create'), 'repeat', 'repeat'])
    expect(eventOf(results[8] ?? { kind: 'drop' }).message).toBe('boom 8')
    expect(eventOf(results[9] ?? { kind: 'drop' }).message).toBe('(combined from similar events): boom 9')
    expect(results[11]).toMatchObject({
      patch: { body: { count: 3, message: '(combined from similar events): boom 11' } },
    })
  })

  it('similar events are separate again after ten quiet minutes', async () => {
    for (let i = 0; i < 12; i += 1) record(`boom ${i}`)
    await clock.advance(10 * 60_000 + 1)
    expect(eventOf(record('boom 12')).message).toBe('boom 12')
  })
})

describe('event floods', () => {
  it('after 25 events of one object and type, one more event is written every five minutes', async () => {
    const kinds = Array.from({ length: 30 }, () => record('boom').kind)
    expect(kinds.filter((kind) => kind === 'drop')).toHaveLength(5)
    await clock.advance(5 * 60_000 - 1)
    expect(record('boom').kind).toBe('drop')
    await clock.advance(1)
    expect(record('boom').kind).toBe('repeat')
    expect(record('boom').kind).toBe('drop')
  })

  it('a flood of events does not limit events of another type or object', () => {
    for (let i = 0; i < 30; i += 1) record('boom')
    expect(record('boom', { type: 'Normal' }).kind).toBe('create')
    expect(record('boom', { target: { ...target, name: 'd' } }).kind).toBe('create')
  })
})

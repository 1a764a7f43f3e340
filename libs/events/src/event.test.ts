import { FakeClock } from '@csi-sidecars/base/testing'
import { ApiError, type KubeClient } from '@csi-sidecars/kube-client'
import type { Event } from '@csi-sidecars/kube-types'
import { beforeEach, expect, it } from '@jest/globals'
import { RepeatedEventWriter } from './event.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const { signal } = new AbortController()
const target = { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', name: 'va', uid: 'u' }
const occurrence = (message: string): Parameters<RepeatedEventWriter['write']>[0] => ({
  target,
  type: 'Warning',
  reason: 'VolumeAttachFailed',
  message,
})

let clock: FakeClock
let requests: { verb: string; body: unknown; priority: unknown }[]
let stored: Event | undefined
let writer: RepeatedEventWriter
beforeEach(() => {
  clock = new FakeClock({ now: NOW, random: () => 0 })
  requests = []
  stored = undefined
  const client = {
    create: async (_: unknown, object: Event, { priority }: { priority: string }) => {
      requests.push({ verb: 'create', body: object, priority })
      stored = object
      return object
    },
    patch: async (_: unknown, __: unknown, { body }: { body: object }, { priority }: { priority: string }) => {
      requests.push({ verb: 'patch', body, priority })
      if (stored === undefined) throw new ApiError({ code: 404, reason: 'NotFound', message: 'x' })
      return { ...stored, ...body }
    },
  } as unknown as KubeClient
  writer = new RepeatedEventWriter({ client, clock, component: 'external-attacher d' })
})

it('repeated reports of a lasting state update the count and message of one event', async () => {
  const previous = await writer.write(occurrence('one'), { count: 2, signal })
  expect(previous).toMatchObject({
    metadata: { name: `va.${(BigInt(NOW) * 1_000_000n).toString(16)}`, namespace: 'default' },
    involvedObject: target,
    reason: 'VolumeAttachFailed',
    message: 'one',
    count: 2,
    firstTimestamp: '2026-01-02T03:04:05Z',
  })
  await clock.advance(60_000)
  await writer.write(occurrence('two'), { count: 5, previous, signal })
  expect(requests.slice(1)).toEqual([
    {
      verb: 'patch',
      body: { count: 5, lastTimestamp: '2026-01-02T03:05:05Z', message: 'two' },
      priority: 'background',
    },
  ])
})

it('a report of a lasting state creates a new event if the previous event has expired', async () => {
  const previous = await writer.write(occurrence('one'), { count: 1, signal })
  stored = undefined
  const again = await writer.write(occurrence('one'), { count: 9, previous, signal })
  expect(requests.map(({ verb, priority }) => [verb, priority])).toEqual([
    ['create', 'background'],
    ['patch', 'background'],
    ['create', 'background'],
  ])
  expect([again.count, again.metadata.name === previous.metadata.name]).toEqual([9, false])
})

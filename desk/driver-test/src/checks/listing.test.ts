import { answered, callOf, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { type Listed, Listing } from './listing.ts'
import { Tracker } from './tracker.ts'

const va = { volumeId: 'vol', nodeId: 'a' }
const listed = (change: Partial<Listed> = {}): Listed => ({ id: 'vol', capacity: 1024n, nodes: ['a'], ...change })

/** Returns a tracker with one volume, which is attached to node a, and a `Listing` that uses this tracker. */
function scene() {
  const tracker = new Tracker()
  for (const call of [...created('pvc', 'vol', 1024n), ...answered('ControllerPublishVolume', va)]) tracker.see(call)
  const listing = new Listing(tracker)
  const compare = (...volumes: Listed[]) =>
    listing.compare(volumes, tracker.position).map(({ check, text }) => `${check}: ${text}`)
  return { tracker, listing, compare }
}

function seenTwice(...volumes: Listed[]): readonly string[] {
  const { compare } = scene()
  expect(compare(...volumes)).toEqual([])
  return compare(...volumes)
}

describe('Listing', () => {
  it('the check accepts an answer to ListVolumes that agrees with earlier answers and has volumes of other users', () => {
    expect(seenTwice(listed(), listed({ id: 'foreign', nodes: ['z'] }))).toEqual([])
  })

  it.each([
    ['kept: volume vol was created and is not listed', []],
    [
      'kept: volume vol was published to a and is not listed there, without having been unpublished',
      [listed({ nodes: [] })],
    ],
    ['ended: volume vol is listed on b, where it is not published', [listed({ nodes: ['a', 'b'] })]],
    ['capacity: volume vol has 1024 bytes and is listed with 512', [listed({ capacity: 512n })]],
  ])('the check reports a difference in ListVolumes: "%s"', (text, volumes) => {
    expect(seenTwice(...volumes)).toEqual([text])
  })

  it('the check accepts an answer to ListVolumes without nodes and sizes', () => {
    expect(seenTwice(listed({ nodes: undefined, capacity: 0n }))).toEqual([])
  })

  it('the check reports a snapshot that exists and is not listed, and a deleted snapshot that is listed', () => {
    const tracker = new Tracker('Snapshot')
    const listing = new Listing(tracker)
    const texts = (ids: readonly string[], ...calls: readonly ReturnType<typeof callOf>[]) => {
      for (const call of calls) tracker.see(call)
      const list = ids.map((id) => listed({ id, capacity: 0n, nodes: undefined }))
      return [1, 2].flatMap(() => listing.compare(list, tracker.position)).map(({ check, text }) => `${check}: ${text}`)
    }
    const response = { snapshot: { snapshotId: 'snap' } }
    const createCalls = answered('CreateSnapshot', { name: 's', sourceVolumeId: 'vol' }, { response })
    expect(texts([], ...createCalls, ...created('pvc', 'vol', 1n))).toEqual([
      'kept: snapshot snap was created and is not listed',
    ])
    expect(texts(['snap'], ...answered('DeleteSnapshot', { snapshotId: 'snap' }))).toEqual([
      'ended: snapshot snap was deleted and is listed',
    ])
  })

  it('a lasting difference in the answers to ListVolumes causes only one finding', () => {
    const { compare } = scene()
    expect([compare(), compare(), compare(), compare()].map(({ length }) => length)).toEqual([0, 1, 0, 0])
  })

  it('the check ignores a difference that only one of two successive answers to ListVolumes shows', () => {
    const { compare } = scene()
    expect([compare(), compare(listed()), compare(), compare(listed())].flat()).toEqual([])
  })

  it('the check ignores a difference in ListVolumes that a call at the same time explains', () => {
    const { tracker, listing, compare } = scene()
    const { position } = tracker
    for (const call of answered('ControllerUnpublishVolume', va)) tracker.see(call)
    expect([listing.compare([listed()], position), listing.compare([listed()], position)].flat()).toEqual([])
    tracker.see(callOf('ControllerPublishVolume', va))
    expect([compare(listed({ nodes: ['b'] })), compare(listed({ nodes: ['b'] }))].flat()).toEqual([])
  })

  it('the check reports a deleted volume that two successive answers to ListVolumes contain', () => {
    const { tracker, compare } = scene()
    for (const call of [
      ...answered('ControllerUnpublishVolume', va),
      ...answered('DeleteVolume', { volumeId: 'vol' }),
    ]) {
      tracker.see(call)
    }
    expect([compare(listed({ nodes: [] })), compare(listed({ nodes: [] }))]).toEqual([
      [],
      ['ended: volume vol was deleted and is listed'],
    ])
  })

  it('the check ignores a difference in ListVolumes if a call about the volume was sent between the two answers', () => {
    const { tracker, compare } = scene()
    const first = compare(listed({ nodes: [] }))
    for (const call of answered('ControllerPublishVolume', va)) tracker.see(call)
    expect([first, compare(listed({ nodes: [] }))].flat()).toEqual([])
  })
})

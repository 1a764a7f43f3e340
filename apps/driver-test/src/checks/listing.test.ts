import { answered, callOf, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { type Listed, Listing } from './listing.ts'
import { VolumeTracker } from './volume-tracker.ts'

const va = { volumeId: 'vol', nodeId: 'a' }
const listed = (change: Partial<Listed> = {}): Listed => ({ id: 'vol', capacity: 1024n, nodes: ['a'], ...change })

/** Returns a tracker with one volume, which is attached to node a, and a `Listing` that compares lists with it. */
function scene() {
  const tracker = new VolumeTracker()
  for (const call of [...created('pvc', 'vol', 1024n), ...answered('ControllerPublishVolume', va)]) tracker.see(call)
  const listing = new Listing(tracker)
  const look = (...volumes: Listed[]) =>
    listing.look(volumes, tracker.mark).map(({ check, text }) => `${check}: ${text}`)
  return { tracker, listing, look }
}

function seenTwice(...volumes: Listed[]): readonly string[] {
  const { look } = scene()
  expect(look(...volumes)).toEqual([])
  return look(...volumes)
}

describe('Listing', () => {
  it('the answer to ListVolumes passes if it agrees with the earlier answers, even with volumes of other users', () => {
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
  ])('the answer to ListVolumes fails with the finding "%s"', (text, volumes) => {
    expect(seenTwice(...volumes)).toEqual([text])
  })

  it('the answer to ListVolumes passes without nodes and sizes', () => {
    expect(seenTwice(listed({ nodes: undefined, capacity: 0n }))).toEqual([])
  })

  it('the answer to ListVolumes causes one finding for a difference, even if the difference lasts', () => {
    const { look } = scene()
    expect([look(), look(), look(), look()].map(({ length }) => length)).toEqual([0, 1, 0, 0])
  })

  it('the answer to ListVolumes passes if it is outdated once, because only differences in two successive lists count', () => {
    const { look } = scene()
    expect([look(), look(listed()), look(), look(listed())].flat()).toEqual([])
  })

  it('the answer to ListVolumes passes if a call that began after its request, or that still runs, explains a difference', () => {
    const { tracker, listing, look } = scene()
    const { mark } = tracker
    for (const call of answered('ControllerUnpublishVolume', va)) tracker.see(call)
    expect([listing.look([listed()], mark), listing.look([listed()], mark)].flat()).toEqual([])
    tracker.see(callOf('ControllerPublishVolume', va))
    expect([look(listed({ nodes: ['b'] })), look(listed({ nodes: ['b'] }))].flat()).toEqual([])
  })

  it('ListVolumes fails if two successive answers contain a deleted volume', () => {
    const { tracker, look } = scene()
    for (const call of [
      ...answered('ControllerUnpublishVolume', va),
      ...answered('DeleteVolume', { volumeId: 'vol' }),
    ]) {
      tracker.see(call)
    }
    expect([look(listed({ nodes: [] })), look(listed({ nodes: [] }))]).toEqual([
      [],
      ['ended: volume vol was deleted and is listed'],
    ])
  })

  it('the answer to ListVolumes passes if a call about the volume was sent between two differing lists', () => {
    const { tracker, look } = scene()
    const first = look(listed({ nodes: [] }))
    for (const call of answered('ControllerPublishVolume', va)) tracker.see(call)
    expect([first, look(listed({ nodes: [] }))].flat()).toEqual([])
  })
})

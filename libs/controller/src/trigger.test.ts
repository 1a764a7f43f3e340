import type { Cached, Informer, InformerEvent } from '@csi-sidecars/informer'
import { expect, test } from '@jest/globals'
import { feed } from './trigger.ts'

interface Claim extends Cached {
  readonly volume: string
}

const claim = (key: string, volume: string): Claim => ({ key, volume, uid: `uid-${key}`, resourceVersion: '1' })

/** As much of an informer as a trigger sees: what the store holds, and whoever listens. */
function stand(...stored: readonly Claim[]) {
  const listeners = new Set<(event: InformerEvent<Claim>) => void>()
  const informer = {
    store: { values: () => stored.values() },
    subscribe(listener: (event: InformerEvent<Claim>) => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return {
    informer: informer as unknown as Informer<Claim>,
    emit(event: InformerEvent<Claim>) {
      for (const listener of listeners) listener(event)
    },
  }
}

const volumeOf = (event: InformerEvent<Claim>): string[] =>
  event.type === 'updated' ? [event.before.volume, event.after.volume] : [`${event.type} ${event.object.volume}`]

test('feeds the queue with what the store holds, then with every event', () => {
  const keys: string[] = []
  const { informer, emit } = stand(claim('a', 'pv-1'), claim('b', 'pv-2'))
  feed(informer, volumeOf, { add: (key) => keys.push(key) })
  emit({ type: 'updated', before: claim('a', 'pv-1'), after: claim('a', 'pv-3'), cause: 'watch' })
  emit({ type: 'deleted', object: claim('b', 'pv-2') })
  expect(keys).toEqual(['added pv-1', 'added pv-2', 'pv-1', 'pv-3', 'deleted pv-2'])
})

test('feeds nothing once it is ended', () => {
  const keys: string[] = []
  const { informer, emit } = stand()
  const end = feed(informer, volumeOf, { add: (key) => keys.push(key) })
  end()
  emit({ type: 'added', object: claim('a', 'pv-1') })
  expect(keys).toEqual([])
})

test('feeds nothing for an event that concerns nobody', () => {
  const keys: string[] = []
  const { informer } = stand(claim('a', 'pv-1'))
  feed(informer, () => [], { add: (key) => keys.push(key) })
  expect(keys).toEqual([])
})

import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { InformerEvent } from '@csi-sidecars/informer'
import { afterEach, expect, it } from '@jest/globals'
import type { ResizerClaim } from '../caches/claim.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { type ClaimsOfNewVolumesOptions, followClaimsOfNewVolumes } from './open.ts'

let clock: FakeClock
let life: AbortController
let running: Promise<unknown>

const volume = (name: string): ResizerVolume =>
  ({ key: name, uid: `uid-${name}`, claimNamespace: 'ns', claimName: name }) as ResizerVolume

function scene({ synced = true } = {}) {
  clock = new FakeClock()
  life = new AbortController()
  const volumes = new Set<string>()
  const state = { synced: Promise.withResolvers<void>(), lists: 0 }
  if (synced) state.synced.resolve()
  let handler: (event: InformerEvent<ResizerVolume>) => void = () => undefined
  const options = {
    claims: {
      store: {
        get: (key: string) => (volumes.has(key) ? ({ key } as ResizerClaim) : undefined),
        whenSynced: () => state.synced.promise,
      },
      ensureListedSince: async () => {
        state.lists += 1
      },
    },
    volumes: {
      store: { values: () => [volume('first')] },
      subscribe: (listener: typeof handler) => {
        handler = listener
        return () => undefined
      },
    },
    clock,
  } as unknown as ClaimsOfNewVolumesOptions
  running = followClaimsOfNewVolumes(options, life.signal).catch(() => undefined)
  return {
    volumes,
    state,
    add: (name: string) => handler({ type: 'added', object: volume(name) }),
    remove: (name: string) => handler({ type: 'deleted', object: volume(name) }),
  }
}

afterEach(async () => {
  life.abort(new CancelledError('the end'))
  await running
  expect(clock.pending).toBe(0)
})

it('with `--node-deployment` the resizer lists claims if no watch event brings the claim of a new volume', async () => {
  const { state, add } = scene()
  add('x')
  await clock.advance(900)
  expect(state.lists).toBe(0)
  await clock.advance(200)
  expect(state.lists).toBe(1)
  await clock.advance(100_000)
  expect(state.lists).toBe(1)
})

it('the resizer does not list claims for a deleted volume, or for a volume whose claim has arrived', async () => {
  const { volumes, state, add, remove } = scene()
  add('x')
  volumes.add('ns/x')
  add('y')
  remove('y')
  add('first')
  await clock.advance(60_000)
  expect(state.lists).toBe(0)
})

it('the resizer lists claims for a volume that appears during the first list, and for a recreated volume', async () => {
  const { state, add, remove } = scene({ synced: false })
  add('x')
  await clock.advance(60_000)
  expect(state.lists).toBe(0)
  state.synced.resolve()
  await clock.advance(2_000)
  expect(state.lists).toBe(1)
  add('first')
  remove('first')
  add('first')
  await clock.advance(60_000)
  expect(state.lists).toBe(2)
})

it('the resizer lists claims at most twice a minute, even if many new volumes have no claim', async () => {
  const { state, add } = scene()
  for (let second = 0; second < 120; second += 1) {
    add(`v-${second}`)
    await clock.advance(1_000)
  }
  expect(state.lists).toBe(4)
})

import { FakeClock } from '@csi-sidecars/base/testing'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { CONFIG_MAPS, type ConfigMap } from '@csi-sidecars/kube-types'
import { silentLogger } from '@csi-sidecars/telemetry'
import { expect, test } from '@jest/globals'
import { CacheRegistry } from './caches.ts'

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

function kept(isTraced: boolean | undefined, annotations: unknown): unknown {
  const registry = new CacheRegistry({
    // The client has no methods, because a cache sends no requests before it runs.
    client: {} as KubeClient,
    clock: new FakeClock(),
    log: silentLogger,
    ...(isTraced !== undefined && { isTraced }),
  })
  const project = ({ metadata }: ConfigMap) => {
    const { name = '', uid = '', resourceVersion = '' } = metadata ?? {}
    return name === 'foreign' ? undefined : { key: name, uid, resourceVersion }
  }
  const cache = registry.create({ resource: CONFIG_MAPS, project, resyncMs: 0 })
  return cache.storeAnswer({ metadata: { name: 'a', uid: 'u', resourceVersion: '1', annotations } } as ConfigMap)
}

const PLAIN = { key: 'a', uid: 'u', resourceVersion: '1' }

test('a cache keeps the annotation `traceparent` if tracing is on', () => {
  expect(kept(true, { traceparent: TRACEPARENT })).toEqual({ ...PLAIN, traceparent: TRACEPARENT })
})

test.each([
  ['runs are not traced', undefined, { traceparent: TRACEPARENT }],
  ['there is no such annotation', true, { other: 'x' }],
  ['there are no annotations', true, undefined],
  ['the annotation is not a string', true, { traceparent: 7 }],
])('a cache keeps only the projected fields of an object if %s', (_, traced, annotations) => {
  expect(Object.keys(kept(traced, annotations) as object)).toEqual(Object.keys(PLAIN))
})

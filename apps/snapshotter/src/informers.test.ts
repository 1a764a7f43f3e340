import { FakeClock } from '@csi-sidecars/base/testing'
import { createInformer } from '@csi-sidecars/informer'
import { apiErrorOf } from '@csi-sidecars/kube-client'
import type { KubeObject } from '@csi-sidecars/kube-types'
import type { CacheRegistry } from '@csi-sidecars/sidecar'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { FakeApi } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { NODE_LABEL } from './caches/names.ts'
import { SNAPSHOT } from './content/kinds.ts'
import { openCaches } from './informers.ts'
import { DRIVER, vsc } from './testing/objects.ts'

const labelled = (node: string): KubeObject =>
  vsc('c', { metadata: { uid: 'u', resourceVersion: '1', labels: { [NODE_LABEL]: node } } })

it.each([
  ['node-1', ['c']],
  [undefined, ['c', 'c']],
])('a snapshotter whose node is %j caches answers to its writes only for its own contents', (nodeName, keys) => {
  const clock = new FakeClock()
  const log = recordingLogger()
  const client = new FakeApi({ errorOf: apiErrorOf, clock }).newClient()
  const caches: Pick<CacheRegistry, 'create' | 'add'> = {
    create: (options) => createInformer({ client, clock, log, ...options }),
    add: () => undefined,
  }
  const options = { client, caches, driverName: DRIVER, nodeName, resyncMs: 0, clock, log }
  const { contents } = openCaches(SNAPSHOT, options)
  const cached = ['node-1', 'node-2'].map((node) => contents.storeAnswer(labelled(node)))
  expect(cached.flatMap((content) => content?.key ?? [])).toEqual(keys)
})

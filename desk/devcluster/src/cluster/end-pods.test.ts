import { FakeClock } from '@csi-sidecars/base/testing'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { ObjectRef } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { endPods } from './end-pods.ts'

const MOUNT = '/node-1/pods/a/mount'

/** Returns a client that lists the given pods and calls `onDelete` for each deletion. */
function clientOf(pods: readonly string[], onDelete: (name: string) => void) {
  const client = {
    list: async function* (_resource: unknown, { project }: { project: (pod: object) => ObjectRef }) {
      yield { items: pods.map((name) => project({ metadata: { name, namespace: 'default' } })) }
    },
    delete: async (_resource: unknown, { name }: ObjectRef) => onDelete(name),
  }
  return client as unknown as Pick<KubeClient, 'list' | 'delete'>
}

it('the end of a cluster deletes every pod, and waits until no volume is mounted', async () => {
  const clock = new FakeClock()
  const deleted: string[] = []
  const places = new Set([MOUNT])
  let ended = false
  const ending = endPods({
    client: clientOf(['a', 'b'], (name) => deleted.push(name)),
    clock,
    mounted: () => [...places],
  }).then(() => {
    ended = true
  })
  await clock.advance(1000)
  expect([deleted, ended]).toEqual([['a', 'b'], false])
  places.clear()
  await clock.advance(1000)
  await ending
})

it('the end of a cluster does not wait forever for a driver that does not unmount', async () => {
  const clock = new FakeClock()
  const ending = endPods({ client: clientOf([], () => undefined), clock, mounted: () => [MOUNT] })
  await clock.advance(30_000)
  await ending
})

import { FakeClock } from '@csi-sidecars/base/testing'
import type { KubeClient } from '@csi-sidecars/kube-client'
import type { ObjectRef } from '@csi-sidecars/kube-types'
import { expect, it } from '@jest/globals'
import { endPods } from './end-pods.ts'

const MOUNT = '/node-1/pods/a/mount'

/** An API with these pods; each deletion is recorded. */
function clientOf(pods: readonly string[], onDelete: (name: string) => void) {
  const client = {
    list: async function* (_resource: unknown, { project }: { project: (pod: object) => ObjectRef }) {
      yield { items: pods.map((name) => project({ metadata: { name, namespace: 'default' } })) }
    },
    delete: async (_resource: unknown, { name }: ObjectRef) => onDelete(name),
  }
  return client as unknown as Pick<KubeClient, 'list' | 'delete'>
}

it('ends every pod, and waits until nothing is mounted', async () => {
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

it('does not wait without limit for a driver that does not unmount', async () => {
  const clock = new FakeClock()
  const ending = endPods({ client: clientOf([], () => undefined), clock, mounted: () => [MOUNT] })
  await clock.advance(60_000)
  await ending
})

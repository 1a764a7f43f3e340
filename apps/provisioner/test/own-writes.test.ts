import { FakeClock } from '@csi-sidecars/base/testing'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { apiErrorOf } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import { DRIVER, FakeApi, pvc, storageClass } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { Process } from '../src/testing/model/process.ts'
import { ModelStorage } from '../src/testing/model/storage.ts'

const SECONDS = 60
/** The calls of a back-off of 1, 2, 4, 8, 16 and 32 seconds within a minute. */
const CALLS = 6
/** A storm has no end on a fake clock, so the process is killed after this number of calls. */
const MAX_CALLS = 50

/** Runs a minute of a claim that the driver refuses. Returns the number of CreateVolume calls. */
async function refuse(watch: 'before the answers' | 'after the answers'): Promise<number> {
  const clock = new FakeClock()
  const api = new FakeApi({ clock, errorOf: apiErrorOf })
  let calls = 0
  const process = new Process({
    api,
    clock,
    storage: new ModelStorage(),
    settings: { finalizeClaims: true },
    answer: () => {
      throw new RpcError(CODES.ResourceExhausted, 'the pool is full')
    },
    onCreate: () => {
      calls += 1
      if (calls >= MAX_CALLS) process.kill()
    },
    onDelete: () => {},
  })
  process.gate.open()
  if (watch === 'before the answers') process.deliverAtOnce()
  api.store(STORAGE_CLASSES, storageClass())
  const annotations = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
  api.store(PERSISTENT_VOLUME_CLAIMS, pvc('data', { metadata: { annotations } }))
  for (let tenth = 0; tenth < SECONDS * 10; tenth += 1) {
    process.deliver()
    await clock.advance(100)
  }
  process.kill()
  return calls
}

describe('events of own writes with --finalize-claims', () => {
  it.each(['before the answers', 'after the answers'] as const)(
    'a lasting final error costs what the back-off says if the watch delivers our writes %s',
    async (watch) => {
      expect(await refuse(watch)).toBe(CALLS)
    },
  )
})

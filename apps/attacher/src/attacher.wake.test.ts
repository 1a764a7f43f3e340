import { CODES, RpcError } from '@csi-sidecars/csi'
import { CSI_NODES, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from './testing/api-error.ts'
import { Scene } from './testing/model/scene.ts'
import { FINALIZER } from './testing/views.ts'

const STATUS = 'patch volumeattachments/own.n1/status'
const PUBLISH = 'call publish vol-own n1-id'

let scene: Scene
beforeEach(async () => {
  scene = await Scene.begin()
})

/** The error of the attach that has just failed is stored. */
async function failedWith(message: string): Promise<void> {
  await scene.answer(STATUS)
  await scene.tell()
  expect(scene.statusOf('own')?.attachError?.message).toBe(message)
  expect(scene.inFlight).toEqual([])
}

describe('waiting work wakes at once', () => {
  it.each([
    { name: 'the node', present: false, message: 'csinode.storage.k8s.io "n1" not found' },
    { name: 'the driver on the node', present: true, message: 'CSINode n1 does not contain driver csi.example.com' },
  ])('when $name comes', async ({ present, message }) => {
    if (present) scene.createNode('n1', false)
    else scene.api.delete(CSI_NODES, 'n1')
    await scene.tell()
    await scene.create('own')
    await scene.answer('patch persistentvolumes/own')
    await failedWith(message)
    scene.createNode('n1', true)
    await scene.tell()
    expect(scene.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('when the node comes while the steps before it run', async () => {
    scene.api.delete(CSI_NODES, 'n1')
    await scene.tell()
    await scene.create('own')
    scene.createNode('n1', true)
    await scene.tell()
    await scene.answer('patch persistentvolumes/own')
    await scene.answer(STATUS)
    expect(scene.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('when the volume comes', async () => {
    scene.api.delete(PERSISTENT_VOLUMES, 'own')
    await scene.tell()
    await scene.create('own')
    await failedWith('persistentvolume "own" not found')
    scene.createVolume('own')
    await scene.tell()
    expect(scene.inFlight).toEqual(['patch persistentvolumes/own'])
  })

  it.each([
    {
      name: 'one that is being deleted',
      wrong: { metadata: { finalizers: ['a/b'] } },
      deleting: true,
      message: 'PersistentVolume "own" is marked for deletion',
    },
    {
      name: 'one that is not CSI',
      wrong: { metadata: { finalizers: [FINALIZER] }, spec: { csi: null, nfs: { server: 's', path: '/' } } },
      deleting: false,
      message: 'pv spec contained non-csi source that was not migrated',
    },
  ])(
    'when a volume comes in the place of $name, not for what is done to that one',
    async ({ wrong, deleting, message }) => {
      scene.api.edit(PERSISTENT_VOLUMES, 'own', wrong)
      if (deleting) scene.api.delete(PERSISTENT_VOLUMES, 'own')
      await scene.tell()
      await scene.create('own')
      await failedWith(message)
      scene.api.edit(PERSISTENT_VOLUMES, 'own', { metadata: { labels: { a: 'b' } } })
      await scene.tell()
      expect(scene.inFlight).toEqual([])
      scene.api.edit(PERSISTENT_VOLUMES, 'own', { metadata: { finalizers: null } })
      scene.api.delete(PERSISTENT_VOLUMES, 'own')
      scene.createVolume('own')
      await scene.tell()
      expect(scene.inFlight).toContain('patch persistentvolumes/own')
    },
  )

  it('when the driver is back, to which nothing is sent meanwhile and of which no error tells', async () => {
    await scene.claim('own')
    scene.running.driver.lose()
    await scene.settle()
    await scene.create('shared')
    await scene.clock.advance(60_000)
    expect(scene.inFlight).toEqual([])
    expect(scene.statusOf('own')).toEqual({ attached: false })
    scene.running.driver.comeBack()
    await scene.settle()
    expect(scene.inFlight.toSorted()).toEqual([PUBLISH, 'patch persistentvolumes/shared'])
  })

  it('but not for a cause that others wait for', async () => {
    await scene.claim('own')
    await scene.answer(PUBLISH, new RpcError(CODES.Internal, 'no'))
    await failedWith('rpc error: code = Internal desc = no')
    scene.createNode('n1', false)
    await scene.tell()
    scene.createNode('n1', true)
    scene.createNode('n3', true)
    await scene.tell()
    expect(scene.inFlight).toEqual([])
  })

  it('but not what has gone meanwhile', async () => {
    scene.api.delete(CSI_NODES, 'n1')
    await scene.tell()
    await scene.create('own')
    await scene.answer('patch persistentvolumes/own')
    await scene.answer(STATUS)
    await scene.remove('own')
    scene.createNode('n1', true)
    await scene.tell()
    expect(scene.inFlight).toEqual([])
  })
})

describe('an attachment that is made again under its name', () => {
  /** What fails before the claim lets the attachment go at once. */
  async function fail(): Promise<void> {
    await scene.answer(STATUS)
    await scene.tell()
    expect(scene.inFlight).toEqual([])
  }
  async function retriesAfter(ms: number): Promise<void> {
    await scene.clock.advance(ms - 1)
    expect(scene.inFlight).toEqual([])
    await scene.clock.advance(1)
    expect(scene.inFlight).toEqual([STATUS])
  }
  beforeEach(async () => {
    scene.api.delete(CSI_NODES, 'n1')
    await scene.tell()
    await scene.create('own')
    await scene.answer('patch persistentvolumes/own')
    await fail()
    for (const wait of [1_000, 2_000]) {
      await retriesAfter(wait)
      await fail()
    }
  })

  it('has a back-off of its own', async () => {
    await scene.remove('own')
    await scene.create('own')
    await fail()
    await retriesAfter(1_000)
  })

  it('has it also when a run over the former one is still to fail', async () => {
    await retriesAfter(4_000)
    await scene.remove('own')
    await scene.create('own')
    await scene.answer(STATUS, apiError(404, 'NotFound', 'gone'))
    expect(scene.inFlight).toEqual([STATUS])
    await fail()
    await retriesAfter(1_000)
  })
})

describe('a driver', () => {
  it('that says when to come back is asked then', async () => {
    await scene.claim('own')
    await scene.answer(PUBLISH, new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }))
    await scene.answer(STATUS)
    await scene.clock.advance(2_999)
    expect(scene.inFlight).toEqual([])
    await scene.clock.advance(1)
    expect(scene.inFlight).toEqual([PUBLISH])
  })
})

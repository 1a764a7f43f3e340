import { CODES, RpcError } from '@csi-sidecars/csi'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { apiError } from '../src/testing/api-error.ts'
import { AttacherScenario } from '../src/testing/model/scenario.ts'
import { FINALIZER } from '../src/testing/views.ts'

const STATUS = 'patch volumeattachments/own.n1/status'
const PUBLISH = 'call publish vol-own n1-id'

let scenario: AttacherScenario
beforeEach(async () => {
  scenario = await AttacherScenario.begin()
})

/** Answers the status patch of a failed attach, and checks the stored error. */
async function failedWith(message: string): Promise<void> {
  await scenario.answer(STATUS)
  await scenario.deliver()
  expect(scenario.statusOf('own')?.attachError?.message).toBe(message)
  expect(scenario.inFlight).toEqual([])
}

/** Publishes the volume on n2. The driver then refuses it on n1. */
async function refusedForOtherNode(): Promise<void> {
  await scenario.addFinalizers('own', 'n2')
  await scenario.answer('call publish vol-own n2-id')
  await scenario.answer('patch volumeattachments/own.n2/status')
  await scenario.create('own', 'n1')
  await scenario.answer('patch volumeattachments/own.n1')
  await scenario.answer(PUBLISH, new RpcError(CODES.FailedPrecondition, 'attached elsewhere'))
  await failedWith('rpc error: code = FailedPrecondition desc = attached elsewhere')
}

describe('attach', () => {
  it.each([
    { name: 'the node', present: false, message: 'csinode.storage.k8s.io "n1" not found' },
    { name: 'the driver on the node', present: true, message: 'CSINode n1 does not contain driver csi.example.com' },
  ])('a waiting attach runs at once when $name appears', async ({ present, message }) => {
    if (present) scenario.createNode('n1', false)
    else scenario.api.delete(CSI_NODES, { name: 'n1' })
    await scenario.deliver()
    await scenario.create('own')
    await scenario.answer('patch persistentvolumes/own')
    await failedWith(message)
    scenario.createNode('n1', true)
    await scenario.deliver()
    expect(scenario.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('an attach runs again at once if the node is created while the attach runs', async () => {
    scenario.api.delete(CSI_NODES, { name: 'n1' })
    await scenario.deliver()
    await scenario.create('own')
    scenario.createNode('n1', true)
    await scenario.deliver()
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answer(STATUS)
    expect(scenario.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('a waiting attach runs at once when its volume is created', async () => {
    scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
    await scenario.deliver()
    await scenario.create('own')
    await failedWith('persistentvolume "own" not found')
    scenario.createVolume('own')
    await scenario.deliver()
    expect(scenario.inFlight).toEqual(['patch persistentvolumes/own'])
  })

  it.each([
    {
      name: 'a volume that is being deleted',
      wrong: { metadata: { finalizers: ['a/b'] } },
      deleting: true,
      message: 'PersistentVolume "own" is marked for deletion',
    },
    {
      name: 'a volume that is not CSI',
      wrong: { metadata: { finalizers: [FINALIZER] }, spec: { csi: null, nfs: { server: 's', path: '/' } } },
      deleting: false,
      message: 'pv spec contained non-csi source that was not migrated',
    },
  ])(
    'a waiting attach runs at once when a new volume replaces $name, but not when the old volume changes',
    async ({ wrong, deleting, message }) => {
      scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, wrong)
      if (deleting) scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
      await scenario.deliver()
      await scenario.create('own')
      await failedWith(message)
      scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, { metadata: { labels: { a: 'b' } } })
      await scenario.deliver()
      expect(scenario.inFlight).toEqual([])
      scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, { metadata: { finalizers: null } })
      scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
      scenario.createVolume('own')
      await scenario.deliver()
      expect(scenario.inFlight).toContain('patch persistentvolumes/own')
    },
  )

  it('a waiting attach runs when the driver is connected again, and records no error before that', async () => {
    await scenario.addFinalizers('own')
    scenario.running.driver.lose()
    await scenario.settle()
    await scenario.create('shared')
    await scenario.clock.advance(60_000)
    expect(scenario.inFlight).toEqual([])
    expect(scenario.statusOf('own')).toEqual({ attached: false })
    scenario.running.driver.comeBack()
    await scenario.settle()
    expect(scenario.inFlight.toSorted()).toEqual([PUBLISH, 'patch persistentvolumes/shared'])
  })

  it('a waiting attach runs at once after our detach from another node', async () => {
    await refusedForOtherNode()
    await scenario.remove('own', 'n2')
    await scenario.answer('call unpublish vol-own n2-id')
    await scenario.answer('patch volumeattachments/own.n2')
    expect(scenario.inFlight).toEqual([PUBLISH])
  })

  it('a failed attach retries at once after a detach from another node, whatever the error was', async () => {
    await refusedForOtherNode()
    // The next attach must add our finalizer again, and the API server refuses that patch once.
    scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { metadata: { finalizers: null } })
    await scenario.deliver()
    await scenario.answer('patch volumeattachments/own.n1', apiError(500, 'InternalError', 'etcd is away'))
    await scenario.answer(STATUS)
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([])
    await scenario.remove('own', 'n2')
    await scenario.answer('call unpublish vol-own n2-id')
    await scenario.answer('patch volumeattachments/own.n2')
    expect(scenario.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('a waiting attach runs at once when the access modes of the volume are corrected', async () => {
    scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, { spec: { accessModes: ['ReadOnlyMany', 'ReadWriteOnce'] } })
    await scenario.deliver()
    await scenario.create('own')
    await scenario.answer('patch persistentvolumes/own')
    await failedWith('CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume')
    scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, { spec: { accessModes: ['ReadOnlyMany'] } })
    await scenario.deliver()
    expect(scenario.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('a waiting attach does not run for an event that only another attach waits for', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH, new RpcError(CODES.Internal, 'no'))
    await failedWith('rpc error: code = Internal desc = no')
    scenario.createNode('n1', false)
    await scenario.deliver()
    scenario.createNode('n1', true)
    scenario.createNode('n3', true)
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([])
  })

  it('a waiting attach does not run after its attachment was deleted', async () => {
    scenario.api.delete(CSI_NODES, { name: 'n1' })
    await scenario.deliver()
    await scenario.create('own')
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answer(STATUS)
    await scenario.remove('own')
    scenario.createNode('n1', true)
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([])
  })
})

describe('detach', () => {
  it('a detach does not inherit the back-off of its failing attach', async () => {
    await scenario.addFinalizers('own')
    for (const wait of [1_000, 2_000, 4_000, 8_000]) {
      await scenario.answer(PUBLISH, new RpcError(CODES.Internal, 'no'))
      await scenario.answer(STATUS)
      await scenario.deliver()
      await scenario.clock.advance(wait)
    }
    await scenario.answer(PUBLISH, new RpcError(CODES.Internal, 'no'))
    await scenario.answer(STATUS)
    await scenario.remove('own')
    await scenario.answer('call unpublish vol-own n1-id', new RpcError(CODES.Internal, 'no'))
    await scenario.answer(STATUS)
    await scenario.deliver()
    await scenario.clock.advance(999)
    expect(scenario.inFlight).toEqual([])
    await scenario.clock.advance(1)
    expect(scenario.inFlight).toEqual(['call unpublish vol-own n1-id'])
  })
})

describe('recreated attachment', () => {
  /** Answers the status patch of an attach that failed before it added our finalizer to the attachment. */
  async function fail(): Promise<void> {
    await scenario.answer(STATUS)
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([])
  }
  async function retriesAfter(ms: number): Promise<void> {
    await scenario.clock.advance(ms - 1)
    expect(scenario.inFlight).toEqual([])
    await scenario.clock.advance(1)
    expect(scenario.inFlight).toEqual([STATUS])
  }
  beforeEach(async () => {
    scenario.api.delete(CSI_NODES, { name: 'n1' })
    await scenario.deliver()
    await scenario.create('own')
    await scenario.answer('patch persistentvolumes/own')
    await fail()
    for (const wait of [1_000, 2_000]) {
      await retriesAfter(wait)
      await fail()
    }
  })

  it('a recreated attachment starts with a fresh back-off', async () => {
    await scenario.remove('own')
    await scenario.create('own')
    await fail()
    await retriesAfter(1_000)
  })

  it('a recreated attachment starts with a fresh back-off even if a run over the deleted attachment fails later', async () => {
    await retriesAfter(4_000)
    await scenario.remove('own')
    await scenario.create('own')
    await scenario.answer(STATUS, apiError(404, 'NotFound', 'gone'))
    expect(scenario.inFlight).toEqual([STATUS])
    await fail()
    await retriesAfter(1_000)
  })
})

describe('RetryInfo', () => {
  it('an answer with `RetryInfo` delays the next call as the driver asks', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH, new RpcError(CODES.Unavailable, 'busy', { retryAfterMs: 3_000 }))
    await scenario.answer(STATUS)
    await scenario.clock.advance(2_999)
    expect(scenario.inFlight).toEqual([])
    await scenario.clock.advance(1)
    expect(scenario.inFlight).toEqual([PUBLISH])
  })
})

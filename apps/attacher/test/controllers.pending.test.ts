import type { PendingWork } from '@csi-sidecars/controller'
import { CODES, RpcError } from '@csi-sidecars/csi'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { AttacherScenario } from '../src/testing/model/scenario.ts'
import { FINALIZER } from '../src/testing/views.ts'

const STATUS = 'patch volumeattachments/own.n1/status'
const PUBLISH = 'call publish vol-own n1-id'
const UNPUBLISH = 'call unpublish vol-own n1-id'

let scenario: AttacherScenario
const begin = async (recoverLostVolumes = false): Promise<void> => {
  scenario = await AttacherScenario.begin({ settings: { recoverLostVolumes } })
}
beforeEach(() => begin())

const pending = (): PendingWork[] => [...scenario.running.backlog.pending()]
const states = (): string[] =>
  pending().map(({ key, operation, state, reason }) => `${operation} ${key} ${state} ${reason}`)
const seconds = async (operation: string): Promise<number | undefined> => {
  const name = `csi_sidecar_work_duration_seconds_count{driver_name="csi.example.com",operation="${operation}"}`
  const line = (await scenario.running.metrics.text()).split('\n').find((each) => each.startsWith(name))
  return line === undefined ? undefined : Number(line.slice(name.length))
}

async function attached(): Promise<void> {
  await scenario.addFinalizers('own')
  await scenario.answer(PUBLISH)
  await scenario.answer(STATUS)
  await scenario.deliver()
}

/** Deletes the volume and removes its finalizer by hand. */
async function lose(): Promise<void> {
  scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
  scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, { metadata: { finalizers: null } })
  await scenario.deliver()
}

describe('attach', () => {
  it('an attach appears in the pending work at each step, and in the metrics when it is done', async () => {
    expect(pending()).toEqual([])
    await scenario.create('own')
    expect(states()).toEqual(['attach own.n1 writing APIWrite'])
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answer('patch volumeattachments/own.n1')
    expect(states()).toEqual(['attach own.n1 calling DriverCall'])
    expect(pending()[0]).toMatchObject({
      volume: 'own',
      node: 'n1',
      object: { kind: 'VolumeAttachment', name: 'own.n1' },
    })
    await scenario.answer(PUBLISH)
    expect(states()).toEqual(['attach own.n1 writing APIWrite'])
    await scenario.answer(STATUS)
    await scenario.deliver()
    expect([states(), await seconds('attach')]).toEqual([[], 1])
  })

  it('an attach that the driver refuses waits for its back-off or for a detach from another node', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH, new RpcError(CODES.FailedPrecondition, 'in use'))
    await scenario.answer(STATUS)
    expect(pending()).toMatchObject([
      {
        state: 'waiting',
        reason: 'FailedPrecondition',
        waitsFor: ['a detach of volume vol-own'],
        nextTry: scenario.clock.now() + 1000,
      },
    ])
  })

  it('an attach without a CSINode is reported as waiting for the CSINode', async () => {
    scenario.api.delete(CSI_NODES, { name: 'n1' })
    await scenario.deliver()
    await scenario.create('own')
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answer(STATUS)
    expect(pending()).toMatchObject([{ state: 'waiting', reason: 'CSINodeMissing', waitsFor: ['CSINode n1'] }])
  })

  it('an attach is reported as waiting for the driver while the driver is disconnected', async () => {
    scenario.running.driver.lose()
    await scenario.create('own')
    expect(pending()).toMatchObject([{ state: 'queued', reason: 'DriverAway', waitsFor: ['CSI driver'], tries: 0 }])
  })

  it('an attach is reported as waiting while another call for its volume runs', async () => {
    await scenario.addFinalizers('own')
    await scenario.create('own', 'n2')
    expect(states()).toEqual(['attach own.n1 calling DriverCall', 'attach own.n2 queued VolumeOrNodeBusy'])
  })
})

describe('lost volume', () => {
  it('a detach without its PersistentVolume blocks until the PersistentVolume is created again', async () => {
    await attached()
    await lose()
    await scenario.remove('own')
    await scenario.answer(STATUS)
    await scenario.deliver()
    expect(pending()).toMatchObject([
      { operation: 'detach', state: 'waiting', reason: 'PersistentVolumeMissing', stuck: true, nextTry: undefined },
    ])
    scenario.takePatches()
    await scenario.clock.advance(300_000)
    expect([scenario.takePatches(), scenario.inFlight]).toEqual([[], []])
    scenario.createVolume('own')
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([UNPUBLISH])
  })

  it('a detach without its PersistentVolume retries until its error is stored in the status', async () => {
    await attached()
    await lose()
    await scenario.remove('own')
    await scenario.answer(STATUS, new Error('no'))
    expect(pending()).toMatchObject([{ stuck: true, nextTry: scenario.clock.now() + 1000 }])
  })
})

describe('with --recover-lost-volumes', () => {
  beforeEach(() => begin(true))

  it('an attach records handle and UID of the volume in the same write as the finalizer', async () => {
    await scenario.addFinalizers('own')
    const [note = ''] = scenario.takePatches().filter((each) => each.includes('volumeattachments'))
    expect(note).toContain('"csi-sidecars/volume-handle":"vol-own"')
    expect(note).toMatch(/"csi-sidecars\/volume-uid":"?[\w-]+/)
    expect(note).toContain(FINALIZER)
  })

  it('a detach of a lost volume unpublishes once, even if the removal of the finalizer fails first', async () => {
    await attached()
    await lose()
    await scenario.remove('own')
    await scenario.answer('get persistentvolumes/own')
    expect(scenario.inFlight).toEqual([UNPUBLISH])
    await scenario.answer(UNPUBLISH)
    await scenario.answer('patch volumeattachments/own.n1', new Error('no'))
    await scenario.answer(STATUS)
    await scenario.clock.advance(1000)
    expect(scenario.inFlight).toEqual(['patch volumeattachments/own.n1'])
    await scenario.answer('patch volumeattachments/own.n1')
    await scenario.deliver()
    expect(scenario.api.server.get(VOLUME_ATTACHMENTS, { name: 'own.n1' })).toBeUndefined()
    expect(scenario.callLog.filter((call) => call.startsWith('unpublish'))).toHaveLength(1)
  })

  it('a lost volume that the driver does not know counts as detached', async () => {
    await attached()
    await lose()
    await scenario.remove('own')
    await scenario.answer('get persistentvolumes/own')
    await scenario.answer(UNPUBLISH, new RpcError(CODES.NotFound, 'no such volume'))
    expect(scenario.inFlight).toEqual(['patch volumeattachments/own.n1'])
  })

  it('a detach makes no CSI call if only the cache lacks the PersistentVolume', async () => {
    await attached()
    scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
    scenario.api.edit(PERSISTENT_VOLUMES, { name: 'own' }, { metadata: { finalizers: null } })
    await scenario.deliver()
    scenario.createVolume('own')
    scenario.api.delete(VOLUME_ATTACHMENTS, { name: 'own.n1' })
    await scenario.settle()
    scenario.running.deliver(VOLUME_ATTACHMENTS)
    await scenario.settle()
    await scenario.answer('get persistentvolumes/own')
    expect(scenario.inFlight).toEqual([STATUS])
    await scenario.answer(STATUS)
    expect(pending()[0]?.message).toBe('failed to detach: persistentvolume "own" has been created again')
  })
})

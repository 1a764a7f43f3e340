import { CODES, RpcError } from '@csi-sidecars/csi'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { AttacherScenario } from '../src/testing/model/scenario.ts'
import { FINALIZER } from '../src/testing/views.ts'

const PUBLISH = 'call publish vol-own n1-id'
const UNPUBLISH = 'call unpublish vol-own n1-id'
const VA = 'patch volumeattachments/own.n1'
const STATUS = 'patch volumeattachments/own.n1/status'

let scenario: AttacherScenario
beforeEach(async () => {
  scenario = await AttacherScenario.begin()
})

/** Removes all finalizers by hand. The API server deletes the attachment if its deletion was requested. */
function strip(): void {
  scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { metadata: { finalizers: null } })
}

function stripAndDelete(): void {
  strip()
  scenario.api.delete(VOLUME_ATTACHMENTS, { name: 'own.n1' })
}

describe('recreated attachment', () => {
  it.each([
    { name: 'shows the deletion', seen: true },
    { name: 'does not show the deletion yet', seen: false },
  ])('the attacher publishes again for the recreated attachment if the cache $name', async ({ seen }) => {
    await scenario.addFinalizers('own')
    stripAndDelete()
    scenario.createAttachment('own', 'n1', false)
    if (seen) await scenario.deliver()
    await scenario.answer(PUBLISH)
    await scenario.answer(STATUS)
    if (!seen) await scenario.answer('get volumeattachments/own.n1')
    expect(scenario.statusOf('own')).toEqual({ attached: false })
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([VA])
    await scenario.answerAtOnce()
    expect(scenario.callLog).toEqual(['publish vol-own n1-id', 'publish vol-own n1-id'])
    expect(scenario.statusOf('own')?.attached).toBe(true)
    scenario.checkAlways()
  })

  it('the attacher publishes for a recreated attachment only after it has stored our finalizer again', async () => {
    await scenario.create('own')
    await scenario.answer('patch persistentvolumes/own')
    await scenario.apply(VA)
    stripAndDelete()
    scenario.createAttachment('own', 'n1', false)
    await scenario.deliver()
    await scenario.answer(VA)
    expect([scenario.inFlight, scenario.callLog]).toEqual([[VA], []])
    await scenario.answerAtOnce()
    scenario.checkAlways()
    expect(scenario.callLog).toEqual(['publish vol-own n1-id'])
    expect(scenario.attachment('own', 'n1')?.metadata?.finalizers).toEqual([FINALIZER])
  })

  it.each([
    { name: 'has succeeded', failure: undefined },
    { name: 'has failed', failure: new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded') },
  ])('the attacher unpublishes after the publish $name if the attachment stays deleted', async ({ failure }) => {
    await scenario.addFinalizers('own')
    stripAndDelete()
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([PUBLISH])
    await scenario.answer(PUBLISH, failure)
    await scenario.answer(STATUS)
    expect(scenario.inFlight).toEqual([UNPUBLISH])
    await scenario.answer(UNPUBLISH)
    await scenario.clock.advance(3_600_000)
    expect(scenario.inFlight).toEqual([])
  })

  it('the attacher unpublishes the volume of an attachment that is deleted after its publish', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH)
    await scenario.answer(STATUS)
    await scenario.deliver()
    stripAndDelete()
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([UNPUBLISH])
    await scenario.answer(UNPUBLISH, new RpcError(CODES.Internal, 'no'))
    await scenario.clock.advance(1_000)
    expect(scenario.inFlight).toEqual([UNPUBLISH])
  })

  it('the attacher does not unpublish the volume of a deleted attachment after the lease is lost', async () => {
    await scenario.addFinalizers('own')
    stripAndDelete()
    await scenario.deliver()
    const { running } = scenario
    running.depose()
    await running.ended
    expect(scenario.callLog).toEqual(['publish vol-own n1-id'])
  })

  it('the deletion of a recreated attachment unpublishes the volume of the first attachment', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH)
    await scenario.answer(STATUS)
    await scenario.deliver()
    scenario.api.delete(CSI_NODES, { name: 'n1' })
    stripAndDelete()
    scenario.createAttachment('own', 'n1', false)
    await scenario.deliver()
    await scenario.answer(STATUS)
    expect(scenario.statusOf('own')?.attachError?.message).toBe('csinode.storage.k8s.io "n1" not found')
    expect(scenario.inFlight).toEqual([])
    await scenario.remove('own')
    expect(scenario.inFlight).toEqual([UNPUBLISH])
  })

  it('the attacher publishes for the recreated attachment after the unpublish of the deleted attachment', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer(PUBLISH)
    await scenario.answer(STATUS)
    await scenario.remove('own')
    strip()
    scenario.createAttachment('own', 'n1', false)
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([UNPUBLISH])
    await scenario.answer(UNPUBLISH)
    await scenario.answer(VA)
    await scenario.answerAtOnce()
    expect(scenario.statusOf('own')?.attached).toBe(true)
    expect(scenario.callLog.slice(-2)).toEqual(['unpublish vol-own n1-id', 'publish vol-own n1-id'])
  })
})

describe('recreated volume', () => {
  it('an attach of a recreated volume publishes with the current handle', async () => {
    scenario.createAttachment('own', 'n1', false)
    scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
    scenario.createVolume('own', 'vol-new')
    // The watch delivers only the attachment, so the cache still holds the deleted volume.
    scenario.running.deliver(VOLUME_ATTACHMENTS)
    await scenario.settle()
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answerAtOnce()
    expect(scenario.callLog).toEqual(['publish vol-new n1-id'])
  })

  it('the former handle is unpublished if the volume is recreated during a publish that exceeds its deadline', async () => {
    await scenario.addFinalizers('own')
    scenario.removeVolume('own')
    scenario.createVolume('own', 'vol-new')
    await scenario.deliver()
    await scenario.answer(PUBLISH, new RpcError(CODES.DeadlineExceeded, 'context deadline exceeded'))
    await scenario.answerAtOnce()
    await scenario.clock.advance(100_000)
    expect(scenario.callLog.toSorted()).toEqual([
      'publish vol-new n1-id',
      'publish vol-own n1-id',
      'unpublish vol-own n1-id',
    ])
    expect(scenario.statusOf('own')?.attached).toBe(true)
  })
})

describe('deleted volume', () => {
  async function seeVolumes(): Promise<void> {
    scenario.running.deliver(PERSISTENT_VOLUMES)
    await scenario.settle()
  }

  /** Recreates the volume with another handle, and attaches it. Returns all calls to the driver. */
  async function callsInTheEnd(): Promise<readonly string[]> {
    scenario.createVolume('own', 'vol-new')
    await scenario.answerAtOnce()
    await scenario.clock.advance(100_000)
    expect(scenario.attachment('own', 'n1')?.status).toMatchObject({ attached: true })
    return scenario.callLog
  }

  beforeEach(async () => {
    await scenario.addFinalizers('own')
    for (const label of [PUBLISH, STATUS]) await scenario.answer(label)
    await scenario.deliver()
    await scenario.remove('own')
    for (const label of [UNPUBLISH, VA]) await scenario.answer(label)
    await scenario.deliver()
    scenario.removeVolume('own')
    scenario.createAttachment('own', 'n1', false)
    scenario.running.deliver(VOLUME_ATTACHMENTS)
    await scenario.settle()
    scenario.calls.splice(0)
  })

  it('an attach does not publish a deleted volume if the cache shows the deletion before the publish', async () => {
    await seeVolumes()
    for (const label of [VA, STATUS]) await scenario.answer(label)
    expect(await callsInTheEnd()).toEqual(['publish vol-new n1-id'])
  })

  it('known limit: an attach publishes a deleted volume if the cache shows the deletion only after the publish has begun', async () => {
    await scenario.answer(VA)
    await seeVolumes()
    for (const label of [PUBLISH, STATUS]) await scenario.answer(label)
    expect(await callsInTheEnd()).toEqual(['publish vol-own n1-id'])
    await scenario.remove('own')
    expect(scenario.callLog).toEqual(['publish vol-own n1-id', 'unpublish vol-new n1-id', 'unpublish vol-own n1-id'])
  })
})

describe('node ID', () => {
  beforeEach(async () => {
    await scenario.answerAtOnce()
    await scenario.create('own')
    scenario.api.edit(
      CSI_NODES,
      { name: 'n1' },
      { spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n1-other' }] } },
    )
    await scenario.deliver()
  })

  it('a detach from a node whose ID has changed uses the node ID of the publish', async () => {
    await scenario.remove('own')
    expect(scenario.callLog.at(-1)).toBe('unpublish vol-own n1-id')
  })

  it('a detach from a node whose ID has changed uses the ID in the CSINode after a restart', async () => {
    scenario.kill()
    scenario.start()
    await scenario.answerAtOnce()
    await scenario.remove('own')
    expect(scenario.callLog.at(-1)).toBe('unpublish vol-own n1-other')
  })
})

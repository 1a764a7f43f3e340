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

/** A user removes its finalizers, and the API server deletes it if its deletion was requested. */
function strip(): void {
  scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { metadata: { finalizers: null } })
}

function stripAndDelete(): void {
  strip()
  scenario.api.delete(VOLUME_ATTACHMENTS, { name: 'own.n1' })
}

describe('an attachment that goes in mid-call', () => {
  it.each([
    { name: 'seen by the cache', seen: true },
    { name: 'before the cache sees it', seen: false },
  ])('and is recreated gets a publish of its own, $name', async ({ seen }) => {
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

  it('before the answer to its finalizer has come is not published for the one that has its name', async () => {
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
  ])('for good is unpublished after its publish $name', async ({ failure }) => {
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

  it('is unpublished long after its publish too', async () => {
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

  it('is not unpublished without the lease', async () => {
    await scenario.addFinalizers('own')
    stripAndDelete()
    await scenario.deliver()
    const { running } = scenario
    running.depose()
    await running.ended
    expect(scenario.callLog).toEqual(['publish vol-own n1-id'])
  })

  it('and is recreated without ever coming to a publish leaves the unpublish to its end', async () => {
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

  it('and is recreated while its unpublish runs is published after that', async () => {
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

describe('a volume that is recreated before our finalizer is on it', () => {
  it('is published by the handle that it has now', async () => {
    scenario.createAttachment('own', 'n1', false)
    scenario.api.delete(PERSISTENT_VOLUMES, { name: 'own' })
    scenario.createVolume('own', 'vol-new')
    // Only the attachment is seen: the cache still holds the volume of before.
    scenario.running.deliver(VOLUME_ATTACHMENTS)
    await scenario.settle()
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answerAtOnce()
    expect(scenario.callLog).toEqual(['publish vol-new n1-id'])
  })
})

describe('the deletion of a volume before its attachment is created', () => {
  const NEXT = 'publish vol-new n1-id'
  const BOTH = [NEXT, 'publish vol-own n1-id', 'unpublish vol-own n1-id']
  /** The cache sees the deletion after `answered`; `rest` is answered after that. `calls` are all calls in the end. */
  const MOMENTS = [
    { when: 'before the publish', answered: [], rest: [VA, STATUS], calls: [NEXT] },
    { when: 'during the publish', answered: [VA], rest: [PUBLISH, STATUS], calls: BOTH },
    { when: 'while the status is written', answered: [VA, PUBLISH], rest: [STATUS], calls: BOTH },
    { when: 'when it is attached', answered: [VA, PUBLISH, STATUS], rest: [], calls: BOTH },
  ]

  async function answer(...labels: readonly string[]): Promise<void> {
    for (const label of labels) await scenario.answer(label)
  }

  async function seeVolumes(): Promise<void> {
    scenario.running.deliver(PERSISTENT_VOLUMES)
    await scenario.settle()
  }

  async function expectAttachedBy(calls: readonly string[]): Promise<void> {
    await scenario.answerAtOnce()
    await scenario.clock.advance(100_000)
    expect(scenario.callLog.sort()).toEqual(calls)
    expect(scenario.attachment('own', 'n1')?.status).toMatchObject({ attached: true })
  }

  beforeEach(async () => {
    await scenario.addFinalizers('own')
    await answer(PUBLISH, STATUS)
    await scenario.deliver()
    await scenario.remove('own')
    await answer(UNPUBLISH, VA)
    await scenario.deliver()
    scenario.removeVolume('own')
    scenario.createAttachment('own', 'n1', false)
    scenario.running.deliver(VOLUME_ATTACHMENTS)
    await scenario.settle()
    scenario.calls.splice(0)
  })

  it.each(MOMENTS)('seen $when: a volume created later under its name is published instead', async (moment) => {
    await answer(...moment.answered)
    await seeVolumes()
    await answer(...moment.rest)
    scenario.createVolume('own', 'vol-new')
    await expectAttachedBy(moment.calls)
  })

  it.each(MOMENTS)(
    'seen $when together with the next volume of its name: that one is published instead',
    async (moment) => {
      await answer(...moment.answered)
      scenario.createVolume('own', 'vol-new')
      await seeVolumes()
      await expectAttachedBy(moment.calls)
    },
  )
})

describe('a node that gets another id', () => {
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

  it('has the volume detached from where it was published', async () => {
    await scenario.remove('own')
    expect(scenario.callLog.at(-1)).toBe('unpublish vol-own n1-id')
  })

  it('has it detached from where it says it is, after a restart', async () => {
    scenario.kill()
    scenario.start()
    await scenario.answerAtOnce()
    await scenario.remove('own')
    expect(scenario.callLog.at(-1)).toBe('unpublish vol-own n1-other')
  })
})

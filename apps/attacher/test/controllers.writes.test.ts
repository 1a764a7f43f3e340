import { CODES, RpcError } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { NODE_ID_ANNOTATION } from '../src/caches/attachment.ts'
import { apiError } from '../src/testing/api-error.ts'
import { AttacherScenario } from '../src/testing/model/scenario.ts'
import { FINALIZER } from '../src/testing/views.ts'

const ADD_FINALIZER =
  '[{"op":"test","path":"/metadata/uid","value":"ID"},{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"csi.alpha.kubernetes.io/node-id":"n1-id"}},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["external-attacher/csi-example-com"]}]'
const ADD_VOLUME_FINALIZER =
  '[{"op":"test","path":"/metadata/uid","value":"ID"},{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["external-attacher/csi-example-com"]}]'
const ATTACHED = '{"metadata":{"uid":"ID"},"status":{"attached":true,"attachmentMetadata":{"at":"n1-id"}}}'

let scenario: AttacherScenario
beforeEach(async () => {
  scenario = await AttacherScenario.begin()
})

describe('own writes', () => {
  it('the first attach of a volume takes three writes, the next attach takes two, and a detach takes one', async () => {
    await scenario.answerAtOnce()
    await scenario.create('shared', 'n1')
    expect(scenario.takePatches()).toEqual([
      `persistentvolumes/shared ${ADD_VOLUME_FINALIZER}`,
      `volumeattachments/shared.n1 ${ADD_FINALIZER}`,
      `volumeattachments/shared.n1/status ${ATTACHED}`,
    ])
    await scenario.create('shared', 'n2')
    expect(scenario.takePatches()).toHaveLength(2)
    await scenario.remove('shared', 'n1')
    expect(scenario.takePatches()).toEqual([
      'volumeattachments/shared.n1 [{"op":"test","path":"/metadata/uid","value":"ID"},{"op":"test","path":"/metadata/finalizers/0","value":"external-attacher/csi-example-com"},{"op":"remove","path":"/metadata/finalizers/0"}]',
    ])
    expect(scenario.callLog).toEqual([
      'publish vol-shared n1-id',
      'publish vol-shared n2-id',
      'unpublish vol-shared n1-id',
    ])
    expect(scenario.attachment('shared', 'n1')).toBeUndefined()
  })

  it.each([
    { name: 'before their answers', early: true },
    { name: 'long after their answers', early: false },
  ])('the attacher writes nothing more when the watch delivers its own writes $name', async ({ early }) => {
    await scenario.create('own')
    const through = async (label: string): Promise<void> => {
      await scenario.apply(label)
      if (early) await scenario.deliver()
      await scenario.answer(label)
    }
    await through('patch persistentvolumes/own')
    await through('patch volumeattachments/own.n1')
    await through('call publish vol-own n1-id')
    await through('patch volumeattachments/own.n1/status')
    await scenario.deliver()
    await scenario.remove('own')
    await through('call unpublish vol-own n1-id')
    await through('patch volumeattachments/own.n1')
    await scenario.deliver()
    expect(scenario.inFlight).toEqual([])
    expect(scenario.api.writes).toHaveLength(4)
    expect(scenario.callLog).toEqual(['publish vol-own n1-id', 'unpublish vol-own n1-id'])
  })

  it('the attacher stores the result of a running publish before it detaches the same attachment', async () => {
    await scenario.addFinalizers('own')
    await scenario.remove('own')
    expect(scenario.inFlight).toEqual(['call publish vol-own n1-id'])
    await scenario.answer('call publish vol-own n1-id')
    await scenario.answer('patch volumeattachments/own.n1/status')
    expect(scenario.inFlight).toEqual(['call unpublish vol-own n1-id'])
  })

  it('the attacher removes the finalizer of a deleted volume with its last attachment', async () => {
    await scenario.answerAtOnce()
    await scenario.create('shared', 'n1')
    await scenario.create('shared', 'n2')
    scenario.api.delete(PERSISTENT_VOLUMES, { name: 'shared' })
    await scenario.remove('shared', 'n1')
    expect(scenario.api.server.get(PERSISTENT_VOLUMES, { name: 'shared' })).toBeDefined()
    await scenario.remove('shared', 'n2')
    expect(scenario.api.server.get(PERSISTENT_VOLUMES, { name: 'shared' })).toBeUndefined()
  })

  it('a restarted attacher repeats no finished attach, and detaches an attachment deleted during the restart', async () => {
    await scenario.answerAtOnce()
    await scenario.create('own', 'n1')
    await scenario.create('shared', 'n1')
    scenario.kill()
    scenario.api.delete(VOLUME_ATTACHMENTS, { name: 'shared.n1' })
    scenario.calls.length = 0
    scenario.start()
    await scenario.answerAtOnce()
    expect(scenario.callLog).toEqual(['unpublish vol-shared n1-id'])
    expect(scenario.attachment('shared', 'n1')).toBeUndefined()
  })
})

describe('other writers', () => {
  const FOREIGN = 'example.com/other'
  const no = new RpcError(CODES.Internal, 'no')

  it.each([
    { name: 'shows the change', seen: true },
    { name: 'does not show the change yet', seen: false },
  ])('a change of another writer survives the patch that adds our finalizer if the cache $name', async ({ seen }) => {
    await scenario.create('own')
    const metadata = { finalizers: [FOREIGN], annotations: { other: 'kept' } }
    scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { metadata })
    if (seen) await scenario.deliver()
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answer('patch volumeattachments/own.n1')
    if (!seen) {
      await scenario.answer('get volumeattachments/own.n1')
      await scenario.answer('patch volumeattachments/own.n1')
    }
    expect(scenario.attachment('own', 'n1')?.metadata?.finalizers).toEqual([FOREIGN, FINALIZER])
    expect(scenario.attachment('own', 'n1')?.metadata?.annotations?.['other']).toBe('kept')
    await scenario.answer('call publish vol-own n1-id')
    await scenario.answer('patch volumeattachments/own.n1/status')
    expect([scenario.statusOf('own'), scenario.callLog]).toEqual([
      { attached: true, attachmentMetadata: { at: 'n1-id' } },
      ['publish vol-own n1-id'],
    ])
  })

  it('the attacher omits its write if another writer has stored the same content first', async () => {
    await scenario.create('own')
    scenario.api.edit(
      VOLUME_ATTACHMENTS,
      { name: 'own.n1' },
      {
        metadata: { finalizers: [FINALIZER], annotations: { [NODE_ID_ANNOTATION]: 'n1-id' } },
      },
    )
    await scenario.deliver()
    await scenario.answer('patch persistentvolumes/own')
    expect(scenario.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it.each([
    { name: 'shows the change', seen: true },
    { name: 'does not show the change yet', seen: false },
  ])('a finalizer that its owner removes is not restored if the cache $name', async ({ seen }) => {
    scenario.createAttachment('own', 'n1', true)
    await scenario.deliver()
    await scenario.answer('patch persistentvolumes/own')
    await scenario.answer('patch volumeattachments/own.n1')
    await scenario.answer('call publish vol-own n1-id')
    await scenario.answer('patch volumeattachments/own.n1/status')
    await scenario.remove('own')
    scenario.removeForeignFinalizer('own', 'n1')
    if (seen) await scenario.deliver()
    await scenario.answer('call unpublish vol-own n1-id')
    await scenario.answer('patch volumeattachments/own.n1')
    if (!seen) {
      await scenario.answer('get volumeattachments/own.n1')
      await scenario.answer('patch volumeattachments/own.n1')
    }
    expect(scenario.attachment('own', 'n1')).toBeUndefined()
    expect(scenario.callLog).toEqual(['publish vol-own n1-id', 'unpublish vol-own n1-id'])
  })

  it('an attach that fails again stores its error again if another writer has cleared it', async () => {
    await scenario.addFinalizers('own')
    await scenario.answer('call publish vol-own n1-id', no)
    await scenario.answer('patch volumeattachments/own.n1/status')
    await scenario.deliver()
    await scenario.clock.advance(1_000)
    scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { status: { attachError: null } })
    await scenario.deliver()
    await scenario.answer('call publish vol-own n1-id', no)
    await scenario.answer('patch volumeattachments/own.n1/status')
    expect(scenario.statusOf('own')?.attachError).toMatchObject({ message: no.message })
  })
})

describe('failed attach', () => {
  const full = new RpcError(CODES.ResourceExhausted, 'full')
  const publishAgain = async (): Promise<void> => scenario.answer('call publish vol-own n1-id', full)

  it('a failed attach retries after 1, 2 and 4 seconds, and after 1 second again once an attach has succeeded', async () => {
    await scenario.addFinalizers('own')
    for (const wait of [1_000, 2_000, 4_000]) {
      await publishAgain()
      await scenario.answer('patch volumeattachments/own.n1/status')
      await scenario.deliver()
      await scenario.clock.advance(wait - 1)
      expect(scenario.inFlight).toEqual([])
      await scenario.clock.advance(1)
    }
    await scenario.answer('call publish vol-own n1-id')
    await scenario.answer('patch volumeattachments/own.n1/status')
    expect(scenario.statusOf('own')).toEqual({ attached: true, attachmentMetadata: { at: 'n1-id' } })
    scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { status: { attached: false } })
    await scenario.deliver()
    await publishAgain()
    await scenario.answer('patch volumeattachments/own.n1/status')
    await scenario.clock.advance(999)
    expect(scenario.inFlight).toEqual([])
    await scenario.clock.advance(1)
    expect(scenario.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it('if another writer reverts an attach, the back-off begins with 1 second again', async () => {
    await scenario.addFinalizers('own')
    for (const wait of [1_000, 2_000, 4_000]) {
      await publishAgain()
      await scenario.answer('patch volumeattachments/own.n1/status')
      await scenario.deliver()
      await scenario.clock.advance(wait)
    }
    await scenario.answer('call publish vol-own n1-id')
    await scenario.apply('patch volumeattachments/own.n1/status')
    scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { status: { attached: false } })
    await scenario.deliver()
    await scenario.answer('patch volumeattachments/own.n1/status')
    await publishAgain()
    await scenario.answer('patch volumeattachments/own.n1/status')
    await scenario.deliver()
    await scenario.clock.advance(999)
    expect(scenario.inFlight).toEqual([])
    await scenario.clock.advance(1)
    expect(scenario.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it('a resync or a change of another writer lets a failed attach retry before its back-off ends', async () => {
    await scenario.addFinalizers('own')
    await publishAgain()
    await scenario.answer('patch volumeattachments/own.n1/status')
    scenario.running.resync()
    await scenario.settle()
    await publishAgain()
    scenario.api.edit(VOLUME_ATTACHMENTS, { name: 'own.n1' }, { metadata: { labels: { a: 'b' } } })
    await scenario.deliver()
    expect(scenario.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it('a successful attach clears a stored error that the cache never showed', async () => {
    await scenario.addFinalizers('own')
    await publishAgain()
    await scenario.apply('patch volumeattachments/own.n1/status')
    await scenario.answer('patch volumeattachments/own.n1/status', apiError(0, '', 'connection reset'))
    await scenario.clock.advance(1_000)
    await scenario.answer('call publish vol-own n1-id')
    await scenario.answer('patch volumeattachments/own.n1/status')
    await scenario.answer('patch volumeattachments/own.n1/status')
    expect(scenario.takePatches().at(-1)).toBe(
      'volumeattachments/own.n1/status {"metadata":{"uid":"ID"},"status":{"attachError":null}}',
    )
    expect(scenario.statusOf('own')).toEqual({ attached: true, attachmentMetadata: { at: 'n1-id' } })
  })
})

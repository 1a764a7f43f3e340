import { CODES, RpcError } from '@csi-sidecars/csi'
import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { NODE_ID_ANNOTATION } from './caches/names.ts'
import { apiError } from './testing/api-error.ts'
import { Scene } from './testing/model/scene.ts'
import { FINALIZER } from './testing/views.ts'

const CLAIM =
  '{"metadata":{"annotations":{"csi.alpha.kubernetes.io/node-id":"n1-id"},"finalizers":["external-attacher/csi-example-com"]}}'
const HOLD =
  '[{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/metadata/finalizers","value":["external-attacher/csi-example-com"]}]'
const ATTACHED = '{"status":{"attached":true,"attachmentMetadata":{"at":"n1-id"}}}'

let scene: Scene
beforeEach(async () => {
  scene = await Scene.begin()
})

describe('an attach and a detach', () => {
  it('take three writes for the first attachment of a volume, two for the next, and one to detach', async () => {
    await scene.quicken()
    await scene.create('shared', 'n1')
    expect(scene.api.patches.splice(0)).toEqual([
      `persistentvolumes/shared ${HOLD}`,
      `volumeattachments/shared.n1 ${CLAIM}`,
      `volumeattachments/shared.n1/status ${ATTACHED}`,
    ])
    await scene.create('shared', 'n2')
    expect(scene.api.patches.splice(0)).toHaveLength(2)
    await scene.remove('shared', 'n1')
    expect(scene.api.patches).toEqual(['volumeattachments/shared.n1 {"metadata":{"finalizers":null}}'])
    expect(scene.callLog).toEqual([
      'publish vol-shared n1-id',
      'publish vol-shared n2-id',
      'unpublish vol-shared n1-id',
    ])
    expect(scene.attachment('shared', 'n1')).toBeUndefined()
  })

  it.each([
    { name: 'before their answers', early: true },
    { name: 'long after their answers', early: false },
  ])('take no more when the watch brings our own writes $name', async ({ early }) => {
    await scene.create('own')
    const through = async (label: string): Promise<void> => {
      scene.flight(label).apply()
      if (early) await scene.tell()
      await scene.answer(label)
    }
    await through('patch persistentvolumes/own')
    await through('patch volumeattachments/own.n1')
    await through('call publish vol-own n1-id')
    await through('patch volumeattachments/own.n1/status')
    await scene.tell()
    await scene.remove('own')
    await through('call unpublish vol-own n1-id')
    await through('patch volumeattachments/own.n1')
    await scene.tell()
    expect(scene.inFlight).toEqual([])
    expect(scene.api.patches).toHaveLength(4)
    expect(scene.callLog).toEqual(['publish vol-own n1-id', 'unpublish vol-own n1-id'])
  })

  it('of one attachment come one after the other: a publish that runs is finished and stored first', async () => {
    await scene.claim('own')
    await scene.remove('own')
    expect(scene.inFlight).toEqual(['call publish vol-own n1-id'])
    await scene.answer('call publish vol-own n1-id')
    await scene.answer('patch volumeattachments/own.n1/status')
    expect(scene.inFlight).toEqual(['call unpublish vol-own n1-id'])
  })

  it('release the volume with the last attachment', async () => {
    await scene.quicken()
    await scene.create('shared', 'n1')
    await scene.create('shared', 'n2')
    scene.api.delete(PERSISTENT_VOLUMES, 'shared')
    await scene.remove('shared', 'n1')
    expect(scene.api.get(PERSISTENT_VOLUMES, 'shared')).toBeDefined()
    await scene.remove('shared', 'n2')
    expect(scene.api.get(PERSISTENT_VOLUMES, 'shared')).toBeUndefined()
  })

  it('are not repeated after a restart, and what was deleted meanwhile is detached', async () => {
    await scene.quicken()
    await scene.create('own', 'n1')
    await scene.create('shared', 'n1')
    scene.kill()
    scene.api.delete(VOLUME_ATTACHMENTS, 'shared.n1')
    scene.calls.length = 0
    scene.start()
    await scene.quicken()
    expect(scene.callLog).toEqual(['unpublish vol-shared n1-id'])
    expect(scene.attachment('shared', 'n1')).toBeUndefined()
  })
})

describe('what others change while a run is under way', () => {
  const FOREIGN = 'example.com/other'
  const no = new RpcError(CODES.Internal, 'no')

  it('is kept by the claim', async () => {
    await scene.create('own')
    scene.api.edit(VOLUME_ATTACHMENTS, 'own.n1', { metadata: { finalizers: [FOREIGN] } })
    await scene.tell()
    await scene.answer('patch persistentvolumes/own')
    await scene.answer('patch volumeattachments/own.n1')
    expect(scene.attachment('own', 'n1')?.metadata.finalizers).toEqual([FOREIGN, FINALIZER])
  })

  it('makes a claim needless that somebody has stored already', async () => {
    await scene.create('own')
    scene.api.edit(VOLUME_ATTACHMENTS, 'own.n1', {
      metadata: { finalizers: [FINALIZER], annotations: { [NODE_ID_ANNOTATION]: 'n1-id' } },
    })
    await scene.tell()
    await scene.answer('patch persistentvolumes/own')
    expect(scene.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it('does not come back when the claim is given up', async () => {
    scene.createAttachment('own', 'n1', true)
    await scene.tell()
    await scene.answer('patch persistentvolumes/own')
    await scene.answer('patch volumeattachments/own.n1')
    await scene.answer('call publish vol-own n1-id')
    await scene.answer('patch volumeattachments/own.n1/status')
    await scene.remove('own')
    scene.letGo('own', 'n1')
    await scene.tell()
    await scene.answer('call unpublish vol-own n1-id')
    await scene.answer('patch volumeattachments/own.n1')
    expect(scene.attachment('own', 'n1')).toBeUndefined()
    expect(scene.callLog).toEqual(['publish vol-own n1-id', 'unpublish vol-own n1-id'])
  })

  it('counts when an error is told once more', async () => {
    await scene.claim('own')
    await scene.answer('call publish vol-own n1-id', no)
    await scene.answer('patch volumeattachments/own.n1/status')
    await scene.tell()
    await scene.clock.advance(1_000)
    scene.api.edit(VOLUME_ATTACHMENTS, 'own.n1', { status: { attachError: null } })
    await scene.tell()
    await scene.answer('call publish vol-own n1-id', no)
    await scene.answer('patch volumeattachments/own.n1/status')
    expect(scene.statusOf('own')?.attachError).toMatchObject({ message: no.message })
  })
})

describe('a failed attach', () => {
  const full = new RpcError(CODES.ResourceExhausted, 'full')
  const publishAgain = async (): Promise<void> => scene.answer('call publish vol-own n1-id', full)

  it('is tried again after 1, 2, 4 seconds, and after a success from the start', async () => {
    await scene.claim('own')
    for (const wait of [1_000, 2_000, 4_000]) {
      await publishAgain()
      await scene.answer('patch volumeattachments/own.n1/status')
      await scene.tell()
      await scene.clock.advance(wait - 1)
      expect(scene.inFlight).toEqual([])
      await scene.clock.advance(1)
    }
    await scene.answer('call publish vol-own n1-id')
    await scene.answer('patch volumeattachments/own.n1/status')
    expect(scene.statusOf('own')).toEqual({ attached: true, attachmentMetadata: { at: 'n1-id' } })
    scene.api.edit(VOLUME_ATTACHMENTS, 'own.n1', { status: { attached: false } })
    await scene.tell()
    await publishAgain()
    await scene.answer('patch volumeattachments/own.n1/status')
    await scene.clock.advance(999)
    expect(scene.inFlight).toEqual([])
    await scene.clock.advance(1)
    expect(scene.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it('is tried early by a resync, and by somebody who touches the object', async () => {
    await scene.claim('own')
    await publishAgain()
    await scene.answer('patch volumeattachments/own.n1/status')
    scene.running.resync()
    await scene.settle()
    await publishAgain()
    await scene.answer('patch volumeattachments/own.n1/status')
    scene.api.edit(VOLUME_ATTACHMENTS, 'own.n1', { metadata: { labels: { a: 'b' } } })
    await scene.tell()
    expect(scene.inFlight).toEqual(['call publish vol-own n1-id'])
  })

  it('leaves no error behind that the cache never saw', async () => {
    await scene.claim('own')
    await publishAgain()
    scene.flight('patch volumeattachments/own.n1/status').apply()
    await scene.answer('patch volumeattachments/own.n1/status', apiError(0, '', 'connection reset'))
    await scene.clock.advance(1_000)
    await scene.answer('call publish vol-own n1-id')
    await scene.answer('patch volumeattachments/own.n1/status')
    await scene.answer('patch volumeattachments/own.n1/status')
    expect(scene.api.patches.at(-1)).toBe('volumeattachments/own.n1/status {"status":{"attachError":null}}')
    expect(scene.statusOf('own')).toEqual({ attached: true, attachmentMetadata: { at: 'n1-id' } })
  })
})

import { CODES, RpcError } from '@csi-sidecars/csi'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { Scene } from './testing/model/scene.ts'

const PUBLISH = 'call publish vol-own n1-id'
const STATUS = 'patch volumeattachments/own.n1/status'

describe('told to stop', () => {
  it('lets a running attach end and stores what came of it, takes nothing new and leaves nothing behind', async () => {
    const scene = await Scene.begin()
    await scene.claim('own')
    scene.createAttachment('shared', 'n1', false)
    scene.running.stop()
    await scene.tell()
    expect(scene.inFlight).toEqual([PUBLISH])
    await scene.answer(PUBLISH)
    await scene.answer(STATUS)
    await scene.running.ended
    expect(scene.statusOf('own')?.attached).toBe(true)
    expect(scene.running.log.lines.filter(({ level }) => level === 0).map(({ message }) => message)).toEqual([
      'Starting CSI attacher',
      'Shutting CSI attacher',
    ])
    expect(scene.clock.pending).toBe(0)
  })

  it('before its caches are filled, ends without having begun', async () => {
    const scene = new Scene()
    scene.start()
    const { running } = scene
    running.stop()
    await running.ended
    expect(running.log.lines).toEqual([])
  })

  it('with back-offs and listings pending, forgets them', async () => {
    const scene = await Scene.begin({ lists: true })
    await scene.claim('own')
    await scene.answer(PUBLISH, new RpcError(CODES.Internal, 'no'))
    await scene.answer(STATUS)
    await scene.answer('call list')
    scene.running.stop()
    await scene.running.ended
    expect(scene.clock.pending).toBe(0)
  })
})

describe('without the lease', () => {
  it('a running call is given up, and nothing is written', async () => {
    const scene = await Scene.begin()
    await scene.claim('own')
    const { running } = scene
    const patches = scene.api.patches.length
    running.depose()
    await running.ended
    expect(running.gate.inFlight).toEqual([])
    expect(scene.api.patches).toHaveLength(patches)
    expect(scene.statusOf('own')).toEqual({ attached: false })
  })
})

describe('calls at the same time', () => {
  it('are at most one for a volume of a single node, whatever the direction', async () => {
    const scene = await Scene.begin()
    await scene.claim('own', 'n1')
    await scene.create('own', 'n2')
    expect(scene.inFlight).toEqual([PUBLISH])
    await scene.answer(PUBLISH)
    await scene.answer(STATUS)
    await scene.answer('patch volumeattachments/own.n2')
    await scene.remove('own', 'n1')
    expect(scene.inFlight).toEqual(['call publish vol-own n2-id'])
  })

  it('are many for a volume of many nodes', async () => {
    const scene = await Scene.begin()
    await scene.claim('shared', 'n1')
    await scene.create('shared', 'n2')
    await scene.answer('patch volumeattachments/shared.n2')
    expect(scene.inFlight).toEqual(['call publish vol-shared n1-id', 'call publish vol-shared n2-id'])
  })

  it('are as many for a node as the flag says', async () => {
    const scene = await Scene.begin({ settings: { maxInflightPerNode: 1 } })
    await scene.claim('own', 'n1')
    await scene.create('shared', 'n1')
    await scene.create('shared', 'n2')
    expect(scene.inFlight).toEqual([PUBLISH, 'patch persistentvolumes/shared'])
  })

  it('of detaches leave workers for attaches', async () => {
    const scene = await Scene.begin()
    const names = Array.from({ length: 20 }, (_, index) => `a${index}`)
    for (const name of [...names, 'late']) scene.createVolume(name)
    for (const name of names) scene.createAttachment(name, 'n1', false)
    scene.running.gate.open()
    for (let turn = 0; turn < 4; turn += 1) await scene.tell()
    for (const name of names) expect(scene.statusOf(name)?.attached).toBe(true)
    scene.kill()
    for (const name of names) scene.api.delete(VOLUME_ATTACHMENTS, `${name}.n1`)
    scene.start()
    await scene.settle()
    expect(scene.inFlight.every((label) => label.startsWith('call unpublish'))).toBe(true)
    await scene.create('late')
    expect(scene.inFlight.at(-1)).toBe('patch persistentvolumes/late')
    expect(scene.inFlight).toHaveLength(4)
  })
})

describe('a comparison with the driver', () => {
  it('publishes again what two listings miss', async () => {
    const scene = await Scene.begin({ lists: true })
    await scene.answer('call list')
    await scene.quicken()
    await scene.create('own')
    scene.forget('own', 'n1')
    await scene.clock.advance(119_000)
    expect(scene.callLog).toEqual(['publish vol-own n1-id'])
    await scene.clock.advance(1_000)
    expect(scene.callLog).toEqual(['publish vol-own n1-id', 'publish vol-own n1-id'])
    expect(scene.api.patches.at(-1)).toBe('volumeattachments/own.n1/status {}')
  })

  it('does not publish twice what is being published while it is listed', async () => {
    const scene = await Scene.begin({ lists: true, settings: { confirmations: 1 } })
    await scene.answer('call list')
    await scene.claim('own')
    scene.flight(PUBLISH).apply()
    await scene.clock.advance(60_000)
    await scene.answer('call list')
    await scene.quicken()
    expect(scene.callLog).toEqual(['publish vol-own n1-id'])
  })

  it('is not made with a driver that cannot list where volumes are', async () => {
    const scene = await Scene.begin()
    await scene.clock.advance(600_000)
    expect(scene.inFlight).toEqual([])
  })
})

import { answered, callOf, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { certain, Tracker } from './tracker.ts'

function trackerOf(calls: readonly ReturnType<typeof callOf>[]): Tracker {
  const tracker = new Tracker()
  for (const call of calls) tracker.see(call)
  return tracker
}

const publish = { volumeId: 'vol', nodeId: 'a' }
const made = [...created('pvc', 'vol', 1024n)]

describe('Tracker', () => {
  it('the volume tracker records a volume from the answer to CreateVolume', () => {
    const [volume] = trackerOf(made).volumes
    expect(volume).toMatchObject({ id: 'vol', name: 'pvc', exists: 'yes', capacity: 1024n, busy: 0 })
  })

  it('the volume tracker records no volume if CreateVolume has failed', () => {
    expect(trackerOf(answered('CreateVolume', { name: 'pvc' }, { code: 13 })).volumes).toEqual([])
  })

  it.each([
    { code: undefined, unsure: ['pvc'] },
    { code: 4, unsure: ['pvc'] },
    { code: 14, unsure: ['pvc'] },
    { code: 3, unsure: [] },
    { code: 0, unsure: [] },
  ])('after code $code of a repeated CreateVolume, these volumes are unconfirmed: $unsure', ({ code, unsure }) => {
    const lost = answered('CreateVolume', { name: 'pvc' }, { code: undefined })
    const named = code === 0 ? { response: { volume: { volumeId: 'vol', capacityBytes: 0n } } } : {}
    const again = answered('CreateVolume', { name: 'pvc' }, { code, ...named })
    expect(trackerOf([...lost, ...again]).unsure.map(({ name }) => name)).toEqual(unsure)
  })

  it('the volume tracker records no volume for a publish without a volume ID', () => {
    expect(trackerOf(answered('NodePublishVolume', { volumeId: '', targetPath: '/t' }, { code: 3 })).volumes).toEqual(
      [],
    )
  })

  it('the volume tracker treats a volume as possibly created if CreateVolume returns no volume ID', () => {
    for (const volume of [undefined, { volumeId: '', capacityBytes: 0n }]) {
      const { volumes, unsure } = trackerOf(answered('CreateVolume', { name: 'pvc' }, { response: { volume } }))
      expect([volumes, unsure.map(({ name }) => name)]).toEqual([[], ['pvc']])
    }
  })

  it('a volume counts as attached after a successful attach, and as maybe attached during the call and after a failure', () => {
    const begun = callOf('ControllerPublishVolume', publish)
    expect([...(trackerOf([...made, begun]).get('vol')?.nodes ?? [])]).toEqual([['a', 'maybe']])
    const done = trackerOf([...made, ...answered('ControllerPublishVolume', publish)])
    expect(certain(done.get('vol')?.nodes ?? new Map())).toEqual(['a'])
    const failed = trackerOf([...made, ...answered('ControllerPublishVolume', publish, { code: 13 })])
    expect([...(failed.get('vol')?.nodes ?? [])]).toEqual([['a', 'maybe']])
  })

  it('the volume tracker keeps a volume as attached while the attach is repeated', () => {
    const again = callOf('ControllerPublishVolume', publish)
    const tracker = trackerOf([...made, ...answered('ControllerPublishVolume', publish), again])
    expect(tracker.get('vol')).toMatchObject({ nodes: new Map([['a', 'yes']]), busy: 1 })
  })

  it('the volume tracker treats a volume as maybe attached during a detach, and as not attached after its success', () => {
    const attached = [...made, ...answered('ControllerPublishVolume', publish)]
    const [begun, ended] = answered('ControllerUnpublishVolume', publish)
    expect(trackerOf([...attached, begun]).get('vol')?.nodes).toEqual(new Map([['a', 'maybe']]))
    expect(trackerOf([...attached, begun, ended]).get('vol')?.nodes).toEqual(new Map())
  })

  it('the volume tracker treats a detach without a node as a detach from all nodes', () => {
    const attached = [
      ...answered('ControllerPublishVolume', publish),
      ...answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'b' }),
    ]
    const tracker = trackerOf([
      ...made,
      ...attached,
      ...answered('ControllerUnpublishVolume', { volumeId: 'vol', nodeId: '' }),
    ])
    expect(tracker.get('vol')?.nodes.size).toBe(0)
  })

  it('the volume tracker treats a volume as deleted after a successful DeleteVolume, and as new after another CreateVolume', () => {
    const gone = [...made, ...answered('DeleteVolume', { volumeId: 'vol' })]
    expect(trackerOf(gone).get('vol')?.exists).toBe('no')
    expect(trackerOf([...gone, ...created('other', 'vol', 1n)]).get('vol')).toMatchObject({
      exists: 'yes',
      name: 'other',
    })
  })

  it('the volume tracker keeps the largest size in the answers', () => {
    const grow = (capacityBytes: bigint) =>
      answered('ControllerExpandVolume', { volumeId: 'vol' }, { response: { capacityBytes } })
    expect(trackerOf([...made, ...grow(4096n), ...grow(2048n)]).get('vol')?.capacity).toBe(4096n)
  })

  it('the volume tracker records staged and published volumes by their paths', () => {
    const mount = { volumeId: 'vol', targetPath: '/t', stagingTargetPath: '/s' }
    const tracker = trackerOf([...made, ...answered('NodeStageVolume', mount), ...answered('NodePublishVolume', mount)])
    expect(certain(tracker.get('vol')?.staged ?? new Map())).toEqual(['/s'])
    expect(certain(tracker.get('vol')?.published ?? new Map())).toEqual(['/t'])
    for (const call of answered('NodeUnpublishVolume', mount)) tracker.see(call)
    for (const call of answered('NodeUnstageVolume', mount)) tracker.see(call)
    expect(tracker.get('vol')).toMatchObject({ staged: new Map(), published: new Map() })
  })

  it('the volume tracker treats a published volume that was never created as an inline volume', () => {
    const mount = { volumeId: 'csi-1', targetPath: '/t' }
    const tracker = trackerOf([...answered('NodePublishVolume', mount)])
    expect(tracker.get('csi-1')).toMatchObject({ inline: true, exists: 'maybe', published: new Map([['/t', 'yes']]) })
    for (const call of answered('NodeUnpublishVolume', mount)) tracker.see(call)
    expect(tracker.get('csi-1')?.exists).toBe('no')
    expect(trackerOf([...answered('NodeUnpublishVolume', mount)]).volumes).toEqual([])
  })
})

import { describe, expect, it } from '@jest/globals'
import type { CachedVolume } from '../caches/volume.ts'
import { apiError } from '../testing/api-error.ts'
import { attachment, csi, ofPv, volume } from '../testing/views.ts'
import { type AttachVolumeView, nodeOf, readVolume, volumeOf } from './volume-view.ts'

const inlineSpec = { csi: csi() }

describe('volumeOf', () => {
  it.each([
    { name: 'a volume', va: attachment(), view: ofPv(volume()) },
    {
      name: 'a missing volume',
      va: attachment({ pvName: 'other' }),
      view: { kind: 'pv', name: 'other', pv: undefined },
    },
    {
      name: 'an inline spec',
      va: attachment({ pvName: undefined, inlineSpec }),
      view: { kind: 'inline', spec: inlineSpec },
    },
    { name: 'both sources', va: attachment({ inlineSpec }), view: { kind: 'both' } },
    { name: 'no source', va: attachment({ pvName: undefined }), view: { kind: 'nowhere' } },
  ])('the volume of an attachment can be $name', ({ va, view }) => {
    expect(volumeOf(va, { get: (name) => (name === 'pv1' ? volume() : undefined) })).toEqual(view)
  })
})

describe('nodeOf', () => {
  const cached = { key: 'node1', uid: 'u', resourceVersion: '1' }
  it.each([
    { name: 'the node ID', node: { ...cached, nodeId: 'id' }, view: { kind: 'id', nodeId: 'id' } },
    { name: 'a CSINode without the driver', node: { ...cached, nodeId: undefined }, view: { kind: 'noDriver' } },
    { name: 'no CSINode', node: undefined, view: { kind: 'noNode' } },
  ])('`nodeOf` returns the right view for $name', ({ node, view }) => {
    expect(nodeOf(attachment(), { get: (name) => (name === 'node1' ? node : undefined) })).toEqual(view)
  })
})

describe('readVolume', () => {
  const foreign = volume({ csi: csi({ driver: 'other' }) })
  const signal = new AbortController().signal
  let reads: string[]
  const read = (cached: CachedVolume, answer: unknown): Promise<AttachVolumeView> => {
    reads = []
    const get = async (_: unknown, { name }: { name: string }): Promise<never> => {
      reads.push(name)
      if (answer instanceof Error) throw answer
      return answer as never
    }
    return readVolume(attachment(), { volumes: { get: () => cached }, api: { get } }, signal)
  }

  it('the attacher does not read a volume from the API if its source is cached', async () => {
    expect(await read(volume(), {})).toEqual(ofPv(volume()))
    expect(reads).toEqual([])
  })

  it("the attacher reads the source of another driver's volume from the API", async () => {
    const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, csi: csi({ driver: 'other' }) }
    const view = await read(foreign, { metadata: { uid: 'pv1-uid' }, spec })
    expect(view).toMatchObject({
      kind: 'pv',
      pv: { kind: 'foreign', spec: { accessModes: ['ReadWriteOnce'], csi: csi({ driver: 'other' }) } },
    })
    expect(view).not.toHaveProperty('pv.spec.capacity')
    expect(reads).toEqual(['pv1'])
  })

  it.each([
    { name: 'a recreated volume', metadata: { uid: 'later' }, accessModes: ['ReadWriteOnce'] },
    { name: 'a volume with other access modes', metadata: { uid: 'pv1-uid' }, accessModes: ['ReadWriteMany'] },
  ])('a read of a volume fails if the volume on the API server is $name', async ({ metadata, accessModes }) => {
    const spec = { accessModes, csi: csi({ driver: 'other' }) }
    await expect(read(foreign, { metadata, spec })).rejects.toThrow('"pv1" has changed since it was cached')
  })

  it('a cached volume counts as missing if the API server no longer has it', async () => {
    expect(await read(foreign, apiError(404, 'NotFound'))).toEqual(ofPv(undefined))
  })

  it('a read of a volume fails with any API error except 404', async () => {
    await expect(read(foreign, apiError(500, 'InternalError', 'no'))).rejects.toThrow('no')
  })
})

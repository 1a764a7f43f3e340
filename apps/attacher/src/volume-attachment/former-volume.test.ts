import { FakeClock } from '@csi-sidecars/base'
import { describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import { volume, withFinalizer } from '../testing/views.ts'
import { attachedToFormer, type FormerVolumes, publishedAfterEnd } from './former-volume.ts'
import { volumeName } from './lanes.ts'
import { AttachmentMemory } from './memory.ts'
import type { Publication } from './published.ts'

const va = withFinalizer({ attached: true })
const AGAIN = { ...volume(), resourceVersion: '20' }
const NAME = volumeName(va, { from: 'pv', name: AGAIN.key, pv: AGAIN })
const publication: Publication = {
  uid: va.uid,
  volume: 'former',
  nodeName: va.nodeName,
  request: { volumeId: 'former', nodeId: 'n' },
  secret: undefined,
  migrated: false,
}

function known(attachments: readonly Attachment[], publications: readonly Publication[]): FormerVolumes {
  return {
    attachmentsOf: () => attachments,
    published: { ofAttachment: () => new Set(publications) },
    memory: { hasEndedVolume: () => false },
  }
}

describe('attachments for which a former volume was published', () => {
  const attachments = (firstAt: string | undefined, of: Attachment = va): readonly Attachment[] =>
    attachedToFormer({ type: 'added', object: AGAIN }, known([of], [{ ...publication, firstAt }]))

  it('are found where the volume was there already when the publish was sent', () => {
    expect(attachments('21')).toEqual([va])
  })

  it('are left alone where the volume came after the publish, or the attachment was attached before', () => {
    expect(attachments('19')).toEqual([])
    expect(attachments(undefined)).toEqual([])
  })

  it('are left alone while they are not attached, deleted, or of another attacher', () => {
    expect(attachments('21', withFinalizer())).toEqual([])
    expect(attachments('21', withFinalizer({ attached: true, deleting: true }))).toEqual([])
    expect(attachments('21', { ...va, ours: false })).toEqual([])
  })

  it('are none where the same volume was published', () => {
    const same = { ...publication, volume: NAME, firstAt: '21' }
    expect(attachedToFormer({ type: 'added', object: AGAIN }, known([va], [same]))).toEqual([])
  })
})

describe('attachments whose volume was published when it was gone already', () => {
  const ended = (firstAt: string | undefined, volumeOf = NAME, version: string | undefined = '15') =>
    publishedAfterEnd(
      { type: 'deleted', object: AGAIN, ...(version !== undefined && { version }) },
      known([va], [{ ...publication, volume: volumeOf, firstAt }]),
    )

  it('are found by the version of the end', () => {
    expect(ended('16')).toEqual([va])
    expect(ended('15')).toEqual([])
    expect(ended(undefined)).toEqual([])
  })

  it('are none where the version is not known, or another volume was published', () => {
    const event = { type: 'deleted', object: AGAIN } as const
    expect(publishedAfterEnd(event, known([va], [{ ...publication, volume: NAME, firstAt: '16' }]))).toEqual([])
    expect(ended('16', 'former')).toEqual([])
  })

  it('are attached to a former volume once the next one of the name is there, whenever it was created', () => {
    const publications = [{ ...publication, firstAt: '16' }]
    const state = { ...known([va], publications), memory: { hasEndedVolume: () => true } }
    expect(attachedToFormer({ type: 'added', object: AGAIN }, state)).toEqual([va])
  })

  it('are remembered by their uid, until they have the volume of now', () => {
    const memory = new AttachmentMemory({ baseMs: 1_000, maxMs: 60_000, clock: new FakeClock() })
    memory.noteEndedVolume(va)
    expect(memory.hasEndedVolume({ ...va, uid: 'another' })).toBe(false)
    expect(memory.hasEndedVolume(va)).toBe(true)
    memory.clearListing(va.key)
    expect(memory.hasEndedVolume(va)).toBe(false)
  })
})

import { describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import { volume, withFinalizer } from '../testing/views.ts'
import { type FormerVolumes, publishedAfterEnd, publishedOfFormer } from './former-volume.ts'
import { volumeName } from './lanes.ts'
import { type Publication, PublishedVolumes } from './published.ts'

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
    published: { ofAttachment: () => new Set(publications), isOutdated: () => false },
  }
}

describe('what was published of a former volume', () => {
  const former = (firstAt: string | undefined, of: Attachment = va): readonly string[] =>
    publishedOfFormer({ type: 'added', object: AGAIN }, known([of], [{ ...publication, firstAt }])).map(
      ({ va: found, publication: sent }) => `${sent.volume} for ${found.key}`,
    )

  it('is found where the next volume was there already when the publish was sent', () => {
    expect(former('21')).toEqual(['former for va1'])
    expect(former('21', withFinalizer())).toEqual(['former for va1'])
  })

  it('is left alone where the volume came after the publish, or the attachment was attached before', () => {
    expect(former('19')).toEqual([])
    expect(former(undefined)).toEqual([])
  })

  it('is left alone while the attachment is deleted, or of another attacher', () => {
    expect(former('21', withFinalizer({ attached: true, deleting: true }))).toEqual([])
    expect(former('21', { ...va, ours: false })).toEqual([])
  })

  it('is nothing where the same volume was published', () => {
    const same = { ...publication, volume: NAME, firstAt: '21' }
    expect(publishedOfFormer({ type: 'added', object: AGAIN }, known([va], [same]))).toEqual([])
  })

  it('is found whenever the next volume was created, where the former one was gone', () => {
    const sent = { ...publication, firstAt: '16' }
    const state = known([va], [sent])
    const ended = { ...state, published: { ...state.published, isOutdated: () => true } }
    expect(publishedOfFormer({ type: 'added', object: AGAIN }, ended)).toEqual([{ va, publication: sent }])
  })
})

describe('what was published of a volume that was gone already', () => {
  const ended = (firstAt: string | undefined, volumeOf = NAME, version: string | undefined = '15') =>
    publishedAfterEnd(
      { type: 'deleted', object: AGAIN, ...(version !== undefined && { version }) },
      known([va], [{ ...publication, volume: volumeOf, firstAt }]),
    ).length

  it('is found by the version of the end', () => {
    expect([ended('16'), ended('15'), ended(undefined)]).toEqual([1, 0, 0])
  })

  it('is nothing where the version is not known, or another volume was published', () => {
    const event = { type: 'deleted', object: AGAIN } as const
    expect(publishedAfterEnd(event, known([va], [{ ...publication, volume: NAME, firstAt: '16' }]))).toEqual([])
    expect(ended('16', 'former')).toBe(0)
  })

  it('has its attachment published again once the next one is known, until that is under way', () => {
    const published = new PublishedVolumes()
    published.publishing(publication)
    expect([published.isOutdated(publication), published.hasReplaced(va.uid)]).toEqual([false, false])
    published.markEnded(publication)
    expect([published.isOutdated(publication), published.hasReplaced(va.uid)]).toEqual([true, false])
    published.markReplaced(publication)
    expect([published.hasReplaced(va.uid), published.hasReplaced('another')]).toEqual([true, false])
    published.volumeReplaced(va.uid, NAME)
    expect(published.hasReplaced(va.uid)).toBe(false)
  })
})

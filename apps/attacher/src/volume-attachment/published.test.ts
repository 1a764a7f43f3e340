import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Publication, PublishedVolumes } from './published.ts'

let published: PublishedVolumes
beforeEach(() => {
  published = new PublishedVolumes()
})

function publish(uid: string, nodeId = 'id', volumeId = 'h'): Publication {
  const request = { volumeId, nodeId }
  const publication = { uid, volume: volumeId, nodeName: 'node1', request, secret: undefined, migrated: false }
  published.publishing(publication)
  return publication
}

/** What was published for an attachment. */
const of = (uid: string): Publication[] => [...published.ofAttachment(uid)]

describe('what was published', () => {
  it('is known by its attachment, the last one last, until it is unpublished', () => {
    const [first, second] = [publish('u', 'a'), publish('u', 'b')]
    expect(of('u')).toEqual([first, second])
    const again = publish('u', 'a')
    expect(of('u')).toEqual([second, again])
    published.unpublished(second.request)
    expect(of('u')).toEqual([again])
    published.unpublished(again.request)
    expect(of('u')).toEqual([])
  })

  it('is the business of the attachment for which it was published last', () => {
    publish('early')
    const late = publish('late')
    expect([of('early'), of('late')]).toEqual([[], [late]])
    expect(published.attachmentGone('early')).toEqual([])
  })

  it('is identified by volume and node id', () => {
    const [one, other] = [publish('u', 'id', 'h'), publish('u', 'id', 'i')]
    published.unpublished({ volumeId: 'h', nodeId: 'other' })
    published.unpublished({ volumeId: 'x', nodeId: 'id' })
    expect(of('u')).toEqual([one, other])
  })
})

describe('an orphaned publication', () => {
  it('is what was published for an attachment that is gone, until it is unpublished', () => {
    const publication = publish('u')
    expect([published.orphanedPublicationsOn('node1'), published.orphanedPublication('h on id')]).toEqual([
      [],
      undefined,
    ])
    expect(published.attachmentGone('u')).toEqual(['h on id'])
    expect([published.orphanedPublicationsOn('node1'), published.orphanedPublicationsOn('node2')]).toEqual([
      ['h on id'],
      [],
    ])
    expect(published.orphanedPublication('h on id')).toBe(publication)
    published.unpublished(publication.request)
    expect([published.orphanedPublicationsOn('node1'), published.orphanedPublication('h on id')]).toEqual([
      [],
      undefined,
    ])
  })

  it('is what was published for an attachment under another handle of its volume', () => {
    publish('u', 'id', 'former')
    publish('u', 'id', 'h')
    publish('other', 'id', 'i')
    expect(published.volumeReplaced('u', 'h')).toEqual(['former on id'])
    expect(published.orphanedPublicationsOn('node1')).toEqual(['former on id'])
  })

  it('is so no more when it is published for another attachment', () => {
    publish('u')
    published.attachmentGone('u')
    publish('later')
    expect([published.orphanedPublicationsOn('node1'), published.orphanedPublication('h on id')]).toEqual([
      [],
      undefined,
    ])
  })
})

import { beforeEach, describe, expect, it } from '@jest/globals'
import { AttachmentMemory, type Publication } from './memory.ts'

const VA = { uid: 'u' }
const OTHER = { uid: 'other' }

let memory: AttachmentMemory
beforeEach(() => {
  memory = new AttachmentMemory()
})

function publish(va: { uid: string }, nodeId = 'id', volumeId = 'h'): Publication {
  const request = { volumeId, nodeId }
  const publication = { volume: volumeId, nodeName: 'node1', request, secret: undefined, migrated: false }
  memory.recordPublish(va, publication)
  return publication
}

describe('attachment facts', () => {
  it('the attacher remembers each fact about an attachment until a later fact replaces it', () => {
    memory.update(VA, { listing: 'different' })
    memory.update(VA, { statusPending: true })
    memory.update(VA, { listing: 'same' })
    expect(memory.of(VA)).toMatchObject({ listing: 'same', statusPending: true, gone: false, lostDetached: false })
  })

  it('the attacher remembers no facts about a recreated attachment', () => {
    memory.update(VA, { gone: true, listing: 'different' })
    expect(memory.of(OTHER)).toMatchObject({ gone: false, listing: undefined, published: [] })
  })

  it('the attacher forgets all facts about an attachment that is gone', () => {
    memory.update(VA, { gone: true, listing: 'different', statusPending: true })
    memory.forget(VA)
    expect(memory.of(VA)).toMatchObject({ gone: false, listing: undefined, statusPending: false })
  })

  it('the attacher remembers publishes in the order of the calls, until they are unpublished', () => {
    const [first, second] = [publish(VA, 'a'), publish(VA, 'b')]
    expect(memory.of(VA).published).toEqual([first, second])
    const again = publish(VA, 'a')
    expect(memory.of(VA).published).toEqual([second, again])
    memory.recordUnpublish(second.request, VA)
    expect(memory.of(VA).published).toEqual([again])
    memory.recordUnpublish(again.request, VA)
    expect(memory.of(VA).published).toEqual([])
  })

  it('the attacher distinguishes remembered publishes by volume and node ID', () => {
    const [one, other] = [publish(VA, 'id', 'h'), publish(VA, 'id', 'i')]
    memory.recordUnpublish({ volumeId: 'h', nodeId: 'other' }, VA)
    memory.recordUnpublish({ volumeId: 'x', nodeId: 'id' }, VA)
    expect(memory.of(VA).published).toEqual([one, other])
  })
})

describe('orphaned publications', () => {
  const orphans = (): unknown[] => [memory.orphanedPublicationsOn('node1'), memory.orphanedPublication('h on id')]
  const NONE = [[], undefined]

  it('a published volume counts as orphaned from the deletion of its attachment until the unpublish', () => {
    const publication = publish(VA)
    expect(orphans()).toEqual(NONE)
    expect(memory.forget(VA)).toEqual(['h on id'])
    expect(orphans()).toEqual([['h on id'], publication])
    expect(memory.orphanedPublicationsOn('node2')).toEqual([])
    memory.recordUnpublish(publication.request)
    expect(orphans()).toEqual(NONE)
  })

  it('a published volume becomes orphaned when its attachment names another volume', () => {
    publish(VA, 'id', 'former')
    const current = publish(VA, 'id', 'h')
    publish(OTHER, 'id', 'i')
    expect(memory.orphan(VA, 'h')).toEqual(['former on id'])
    expect(memory.orphanedPublicationsOn('node1')).toEqual(['former on id'])
    expect(memory.of(VA).published).toEqual([current])
  })

  it('a published volume is no longer orphaned when another attachment publishes it on the node', () => {
    publish(VA)
    memory.forget(VA)
    publish(OTHER)
    expect(orphans()).toEqual(NONE)
  })
})

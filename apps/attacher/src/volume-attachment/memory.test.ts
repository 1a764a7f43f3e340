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
    memory.update(VA, { mustWriteStatus: true })
    memory.update(VA, { listing: 'same' })
    expect(memory.recordOf(VA)).toMatchObject({
      listing: 'same',
      mustWriteStatus: true,
      isGone: false,
      isLostVolumeDetached: false,
    })
  })

  it('the attacher remembers no facts about a recreated attachment', () => {
    memory.update(VA, { isGone: true, listing: 'different' })
    expect(memory.recordOf(OTHER)).toMatchObject({ isGone: false, listing: undefined, publications: [] })
  })

  it('the attacher forgets all facts about an attachment that is gone', () => {
    memory.update(VA, { isGone: true, listing: 'different', mustWriteStatus: true })
    memory.forget(VA)
    expect(memory.recordOf(VA)).toMatchObject({ isGone: false, listing: undefined, mustWriteStatus: false })
  })

  it('the attacher remembers publishes in the order of the calls, until they are unpublished', () => {
    const [first, second] = [publish(VA, 'a'), publish(VA, 'b')]
    expect(memory.recordOf(VA).publications).toEqual([first, second])
    const again = publish(VA, 'a')
    expect(memory.recordOf(VA).publications).toEqual([second, again])
    memory.recordUnpublish(second.request, VA)
    expect(memory.recordOf(VA).publications).toEqual([again])
    memory.recordUnpublish(again.request, VA)
    expect(memory.recordOf(VA).publications).toEqual([])
  })

  it('the attacher distinguishes remembered publishes by volume and node ID', () => {
    const [one, other] = [publish(VA, 'id', 'h'), publish(VA, 'id', 'i')]
    memory.recordUnpublish({ volumeId: 'h', nodeId: 'other' }, VA)
    memory.recordUnpublish({ volumeId: 'x', nodeId: 'id' }, VA)
    expect(memory.recordOf(VA).publications).toEqual([one, other])
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
    expect(memory.orphanPublications(VA, 'h')).toEqual(['former on id'])
    expect(memory.orphanedPublicationsOn('node1')).toEqual(['former on id'])
    expect(memory.recordOf(VA).publications).toEqual([current])
  })

  it('a published volume is no longer orphaned when another attachment publishes it on the node', () => {
    publish(VA)
    memory.forget(VA)
    publish(OTHER)
    expect(orphans()).toEqual(NONE)
  })
})

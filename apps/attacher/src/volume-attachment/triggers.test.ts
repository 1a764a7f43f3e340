import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import { attachment, claimed, FINALIZER, volume } from '../testing/views.ts'
import { causeOfNode, causeOfVolume, onAttachment } from './triggers.ts'

const error = { message: 'boom', time: '2026-01-01T00:00:00Z' }
const later = { message: 'boom', time: '2026-01-01T00:01:00Z' }
let inWork = false
const trigger = onAttachment({ finalizer: FINALIZER, isInWork: () => inWork, ignored: () => {} })
beforeEach(() => {
  inWork = false
})
const ours = attachment()
const foreign = attachment({ ours: false })

describe('onAttachment', () => {
  it("takes ours when it appears, never another attacher's", () => {
    expect([...trigger({ type: 'added', object: ours })]).toEqual(['va1'])
    expect([...trigger({ type: 'added', object: foreign })]).toEqual([])
    expect([...trigger({ type: 'updated', before: foreign, after: foreign, cause: 'resync' })]).toEqual([])
  })

  it('says which change of ours it leaves alone', () => {
    const ignored: string[] = []
    const watched = onAttachment({ finalizer: FINALIZER, isInWork: () => false, ignored: (key) => ignored.push(key) })
    const failed = attachment({ attachError: error })
    const again = attachment({ attachError: later })
    expect([...watched({ type: 'updated', before: failed, after: again, cause: 'watch' })]).toEqual([])
    expect([...watched({ type: 'updated', before: foreign, after: foreign, cause: 'watch' })]).toEqual([])
    expect([...watched({ type: 'updated', before: ours, after: ours, cause: 'watch' })]).toEqual(['va1'])
    expect(ignored).toEqual(['va1'])
  })

  it('has nothing to do for one that is gone', () => {
    expect([...trigger({ type: 'deleted', object: ours })]).toEqual([])
  })

  type Cause = 'watch' | 'own' | 'resync'
  const rows: { name: string; before: Attachment; after: Attachment; cause: Cause; inWork?: boolean; runs: boolean }[] =
    [
      { name: 'a resync', before: ours, after: ours, cause: 'resync', runs: true },
      {
        name: 'a resync of one with an error',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error }),
        cause: 'resync',
        runs: true,
      },
      { name: 'any change while there is no error', before: ours, after: claimed(), cause: 'watch', runs: true },
      { name: 'a new error', before: claimed(), after: claimed({ attachError: error }), cause: 'watch', runs: false },
      {
        name: 'the same error at another time',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: later }),
        cause: 'watch',
        runs: false,
      },
      {
        name: 'the error of a forced attach at another time',
        before: claimed({ attached: true, attachError: error }),
        after: claimed({ attached: true, attachError: later }),
        cause: 'watch',
        runs: false,
      },
      {
        name: 'an error that is gone',
        before: claimed({ detachError: error }),
        after: claimed(),
        cause: 'watch',
        runs: false,
      },
      {
        name: 'a label changed during the back-off',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error, rest: '[[["a","b"]],[],[]]' }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'a deletion during the back-off',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error, deleting: true }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'a finalizer that somebody added during the back-off',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error, finalizers: [FINALIZER, 'a/b'] }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'attached set back by somebody',
        before: claimed({ attached: true, attachError: error }),
        after: claimed({ attached: false, attachError: error }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'a node id that somebody changed during the back-off',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error, nodeId: 'other' }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'a context that somebody changed beside the error',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error, metadata: { a: 'b' } }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'an absent context that became an empty one, and an absent attached that became false',
        before: claimed({ attachError: error, attached: undefined }),
        after: claimed({ attachError: later, metadata: {} }),
        cause: 'watch',
        runs: false,
      },
      {
        name: 'a finalizer of ours that somebody took away beside the error',
        before: claimed({ attachError: error }),
        after: claimed({ attachError: error, finalizers: [] }),
        cause: 'watch',
        runs: true,
      },
      {
        name: 'attached set back while a run is under way, which sees it in the end',
        before: claimed({ attached: true }),
        after: claimed({ attached: false }),
        cause: 'watch',
        inWork: true,
        runs: false,
      },
      {
        name: 'absent finalizers that became an empty list',
        before: attachment({ attachError: error }),
        after: attachment({ attachError: later, finalizers: [] }),
        cause: 'watch',
        runs: false,
      },
      { name: 'our own claim', before: ours, after: claimed(), cause: 'own', runs: false },
      {
        name: 'our own claim that the watch brings before its answer',
        before: ours,
        after: claimed(),
        cause: 'watch',
        inWork: true,
        runs: false,
      },
      {
        name: 'a deletion while a run is under way',
        before: claimed(),
        after: claimed({ deleting: true }),
        cause: 'watch',
        inWork: true,
        runs: true,
      },
      {
        name: 'our own success',
        before: claimed(),
        after: claimed({ attached: true, metadata: { a: 'b' } }),
        cause: 'own',
        runs: false,
      },
      {
        name: 'our own write whose answer shows a deletion',
        before: ours,
        after: claimed({ deleting: true }),
        cause: 'own',
        runs: true,
      },
      {
        name: "our own write whose answer shows somebody's finalizer",
        before: ours,
        after: claimed({ finalizers: ['a/b', FINALIZER] }),
        cause: 'own',
        runs: true,
      },
    ]
  it.each(rows)('$name: $runs', ({ before, after, cause, runs, ...row }) => {
    inWork = row.inWork === true
    expect([...trigger({ type: 'updated', before, after, cause })]).toEqual(runs ? ['va1'] : [])
  })
})

describe('causes', () => {
  const node = (
    nodeId: string | undefined,
  ): { key: string; uid: string; resourceVersion: string; nodeId: string | undefined } => ({
    key: 'node1',
    uid: 'u',
    resourceVersion: '1',
    nodeId,
  })

  it('a volume that appears is one', () => {
    expect(causeOfVolume({ type: 'added', object: volume() })).toEqual({ on: 'volume', name: 'pv1' })
    expect(causeOfVolume({ type: 'deleted', object: volume() })).toBeUndefined()
    expect(causeOfVolume({ type: 'updated', before: volume(), after: volume(), cause: 'watch' })).toBeUndefined()
    expect(causeOfNode({ type: 'deleted', object: node('id') })).toBeUndefined()
  })

  it.each([
    { name: 'a node that appears with the driver', before: undefined, nodeId: 'id', is: true },
    { name: 'a node that appears without the driver', before: undefined, nodeId: undefined, is: false },
    { name: 'a driver that comes to a node', before: node(undefined), nodeId: 'id', is: true },
    { name: 'a driver that comes back under another id', before: node('old'), nodeId: 'id', is: true },
    { name: 'a node that changes otherwise', before: node('id'), nodeId: 'id', is: false },
    { name: 'a driver that leaves', before: node('id'), nodeId: undefined, is: false },
  ])('$name: $is', ({ before, nodeId, is }) => {
    const after = node(nodeId)
    const cause =
      before === undefined
        ? causeOfNode({ type: 'added', object: after })
        : causeOfNode({ type: 'updated', before, after, cause: 'watch' })
    expect(cause).toEqual(is ? { on: 'node', name: 'node1' } : undefined)
  })
})

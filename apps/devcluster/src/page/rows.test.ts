import { describe, expect, it } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { attachment, boundPair, claim, pod, volume } from '../testing/objects.ts'
import { type RowParts, rowOf } from './rows.ts'

const bound = (change: Partial<RowParts> = {}): RowParts => ({ ...boundPair(), attachments: [], pods: [], ...change })
const running = pod({ phase: 'Running' })

describe('a line of the page', () => {
  it('shows a claim with its volume, and how much of what it asks for is there', () => {
    expect(rowOf('default/data', bound({ claim: boundPair({ claim: { request: '2Gi' } }).claim }))).toEqual({
      id: 'default/data',
      claim: 'default/data',
      volume: 'pv-1',
      className: '',
      state: 'bound',
      requested: { text: '2Gi', bytes: 2 * 1024 ** 3 },
      actual: { text: '1Gi', bytes: 1024 ** 3 },
      cells: {},
    })
  })

  it('is gone with claim and volume', () => {
    expect(rowOf('x', { claim: undefined, volume: undefined, attachments: [], pods: [] })).toBeUndefined()
  })

  const states: [string, Claim | undefined, Volume | undefined, string][] = [
    ['a claim without a volume', claim(), undefined, 'pending'],
    [
      'a claim whose volume grows',
      boundPair({ claim: { resizeStatus: 'NodeResizePending' } }).claim,
      volume(),
      'expanding',
    ],
    ['a claim that lost its volume', claim({ phase: 'Lost' }), undefined, 'lost'],
    ['a volume that nobody has', undefined, volume(), 'available'],
    ['a volume whose claim is gone', undefined, volume({ phase: 'Released' }), 'released'],
    ['a volume that nobody can delete', undefined, volume({ phase: 'Failed' }), 'failed'],
  ]
  it.each(states)('of %s says so', (_, own, its, state) => {
    expect(rowOf('x', { claim: own, volume: its, attachments: [], pods: [] })?.state).toBe(state)
  })

  const cells: [string, Partial<Attachment> | undefined, CachedPod[], object][] = [
    ['nothing', undefined, [], {}],
    ['an attach', {}, [], { 'node-1': { state: 'attaching', pods: [] } }],
    ['an attach that fails', { attachError: 'no' }, [], { 'node-1': { state: 'failing', pods: [], error: 'no' } }],
    ['an attachment', { attached: true }, [], { 'node-1': { state: 'attached', pods: [] } }],
    ['a mount', { attached: true }, [running], { 'node-1': { state: 'mounted', pods: ['app'] } }],
    ['a pod that still waits', { attached: true }, [pod()], { 'node-1': { state: 'attached', pods: [] } }],
    [
      'a pod of another node',
      { attached: true },
      [{ ...running, nodeName: 'node-2' }],
      { 'node-1': { state: 'attached', pods: [] }, 'node-2': { state: 'mounted', pods: ['app'] } },
    ],
    ['a detach', { attached: true, deleting: true }, [], { 'node-1': { state: 'detaching', pods: [] } }],
    [
      'a detach that fails',
      { attached: true, deleting: true, detachError: 'no' },
      [],
      { 'node-1': { state: 'failing', pods: [], error: 'no' } },
    ],
    ['a mount that needed no attach', undefined, [running], { 'node-1': { state: 'mounted', pods: ['app'] } }],
  ]
  it.each(cells)('shows at its node %s', (_, change, pods, expected) => {
    const attachments = change === undefined ? [] : [attachment(change)]
    expect(rowOf('x', bound({ attachments, pods }))?.cells).toEqual(expected)
  })
})

import type { Attachment, CachedPod } from '@csi-sidecars/volume-controllers'
import { attachment, boundPair, pod, volume } from '@csi-sidecars/volume-controllers/testing/objects'
import { describe, expect, it } from '@jest/globals'
import { rowView } from '../../testing/row-views.ts'
import { rowOf } from './rows.ts'
import type { RowView } from './waits.ts'

const row = (change: Partial<RowView> = {}, id = 'claim/default/data') =>
  rowOf(id, rowView(change), { before: undefined, now: 0 })
const running = pod({ phase: 'Running' })
const GIB = 1024 ** 3

describe('rowOf', () => {
  it('a row of the page shows a claim with its pods and its volume, as desired and actual state', () => {
    const { claim } = boundPair({ claim: { request: '2Gi' } })
    expect(row({ claim, volume: { ...boundPair().volume, capacity: '2Gi' }, pods: [running] })).toMatchObject({
      id: 'claim/default/data',
      name: 'default/data',
      claim: { phase: 'Bound', size: { text: '2Gi', bytes: 2 * GIB }, className: 'fast', deleting: false },
      pods: [{ key: 'default/app', node: 'node-1', phase: 'Running', deleting: false }],
      volume: { name: 'pv-1', phase: 'Bound', size: { text: '1Gi', bytes: GIB }, capacity: '2Gi' },
    })
  })

  it('a row of the page shows a volume without a claim, and a pod without a claim', () => {
    const none = { claimKey: undefined, claim: undefined }
    expect(row({ ...none, volume: volume() }, 'volume/pv-1')).toMatchObject({ name: 'pv-1', pods: [] })
    expect(row({ ...none, volume: undefined, pods: [running] }, 'pod/default/app')).toMatchObject({
      name: 'default/app',
    })
  })

  it('a row is stuck if no retry helps or if it waits too long, but not if it waits for the user', () => {
    const { volume: _, claim } = boundPair({ claim: { phase: 'Pending', volumeName: '' } })
    const stuckFor = (reason: string, minutes: number): readonly boolean[] => {
      const view = rowView({ claim, volume: undefined, pods: [], binding: { type: 'Normal', reason, message: '' } })
      const before = rowOf('claim/default/data', view, { before: undefined, now: 0 })
      return rowOf('claim/default/data', view, { before, now: minutes * 60_000 })?.waits.map(({ stuck }) => stuck) ?? []
    }
    expect(stuckFor('VolumeMismatch', 0)).toEqual([true])
    expect([stuckFor('ExternalProvisioning', 1), stuckFor('ExternalProvisioning', 2)]).toEqual([[false], [true]])
    expect(stuckFor('WaitForFirstConsumer', 60)).toEqual([false])
  })

  it('a row of the page disappears with its last object', () => {
    expect(row({ claim: undefined, volume: undefined })).toBeUndefined()
  })

  const places: [string, Partial<Attachment> | undefined, CachedPod[], object[]][] = [
    ['nothing', undefined, [], []],
    ['an attach', {}, [], [{ node: 'node-1', state: 'attaching', pods: [] }]],
    ['an attach that fails', { attachError: 'no' }, [], [{ node: 'node-1', state: 'failing', pods: [], error: 'no' }]],
    ['an attachment', { attached: true }, [], [{ node: 'node-1', state: 'attached', pods: [] }]],
    ['a mount', { attached: true }, [running], [{ node: 'node-1', state: 'mounted', pods: ['app'] }]],
    ['a pod that still waits', { attached: true }, [pod()], [{ node: 'node-1', state: 'attached', pods: [] }]],
    [
      'a pod of another node',
      { attached: true },
      [{ ...running, nodeName: 'node-2' }],
      [
        { node: 'node-1', state: 'attached', pods: [] },
        { node: 'node-2', state: 'mounted', pods: ['app'] },
      ],
    ],
    ['a detach', { attached: true, deleting: true }, [], [{ node: 'node-1', state: 'detaching', pods: [] }]],
    [
      'a detach that fails',
      { attached: true, deleting: true, detachError: 'no' },
      [],
      [{ node: 'node-1', state: 'failing', pods: [], error: 'no' }],
    ],
    [
      'two pods that needed no attach',
      undefined,
      [running, { ...running, name: 'b' }],
      [{ node: 'node-1', state: 'mounted', pods: ['app', 'b'] }],
    ],
  ]
  it.each(places)('a row of the page shows %s on the node of its volume', (_, change, pods, expected) => {
    const attachments = change === undefined ? [] : [attachment(change)]
    expect(row({ attachments, pods })?.places).toEqual(expected)
  })
})

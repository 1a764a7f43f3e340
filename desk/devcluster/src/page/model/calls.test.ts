import type { LiveCall } from '@csi-sidecars/disturb'
import { describe, expect, it } from '@jest/globals'
import { actorOfComponent, callerOf } from './actors.ts'
import { CallLog } from './call-log.ts'
import { callLine, jsonOf, lastCall } from './call-text.ts'

const call = (change: Partial<LiveCall> = {}): LiveCall => ({
  id: 1,
  method: 'ControllerPublishVolume',
  request: { volumeId: 'v', nodeId: 'node-1' },
  end: undefined,
  ...change,
})
const ended = (code: number, message = '') => ({ code, tookMs: 3, message, response: undefined })
const who = 'csi-attacher'
const START = { who, at: 5 }

describe('call texts', () => {
  const isNode = (name: string): boolean => name === 'node-1'
  const callers: [string, Partial<LiveCall>, string | undefined][] = [
    ['of the attacher', {}, 'csi-attacher'],
    ['of the resizer', { method: 'ControllerExpandVolume' }, 'csi-resizer'],
    ['of the provisioner', { method: 'CreateVolume' }, 'csi-provisioner'],
    [
      "of a node's kubelet, by its folder",
      { method: 'NodePublishVolume', request: { targetPath: '/var/lib/kubelet/node-1/pods/x' } },
      'kubelet/node-1',
    ],
    ['of an unknown kubelet', { method: 'NodePublishVolume', request: { targetPath: '/x/node-10/y' } }, undefined],
    ['that every client sends, such as Probe', { method: 'Probe' }, undefined],
  ]
  it.each(callers)('the page shows the caller, if known, of a CSI call %s', (_, change, expected) => {
    expect(callerOf(call(change), isNode)).toBe(expected)
  })

  const components: [string, string][] = [
    ['default-scheduler', 'scheduler'],
    ['persistentvolume-controller', 'persistent-volume'],
    ['attachdetach-controller', 'attach-detach'],
    ['external-resizer csi.example.com', 'csi-resizer'],
    ['csi.example.com_host_1234', 'csi-provisioner'],
    ['kubelet', 'kubelet/node-1'],
    ['another-controller', 'another-controller'],
    ['constructor', 'constructor'],
    ['', 'unknown'],
  ]
  it.each(components)('the page shows the sender of an event by its component "%s"', (component, expected) => {
    expect(actorOfComponent(component, { driver: 'csi.example.com', node: 'node-1' })).toBe(expected)
  })

  it('a CSI call on the page shows request, answer and time, but no empty fields and no secrets', () => {
    const request = {
      volumeId: 'v',
      secrets: { password: 'hidden' },
      volumeContext: {},
      capacityBytes: 5n,
      readonly: false,
    }
    const item = lastCall('x', call({ request, end: { ...ended(0), response: { publishContext: { a: 'b' } } } }), START)
    expect(item).toMatchObject({ id: 'call/x', code: 'OK', tookMs: 3, at: 5 })
    expect(JSON.parse(item.request)).toEqual({ volumeId: 'v', secrets: 'left out', capacityBytes: 5 })
    expect(JSON.parse(item.response ?? '')).toEqual({ publishContext: { a: 'b' } })
    expect(lastCall('x', call(), START)).not.toHaveProperty('code')
  })

  it('the text of a CSI call on the page is shortened if it is too long', () => {
    expect(jsonOf({ long: 'x'.repeat(10_000) }).length).toBeLessThan(4_100)
  })

  it('a CSI call appears in the time line of the page when the call has ended', () => {
    expect(callLine(call(), who)).toBeUndefined()
    expect(callLine(call({ end: ended(0) }), who)).toEqual({
      who,
      text: 'ControllerPublishVolume v on node-1: OK, 3.0 ms',
    })
    const list = { method: 'ListVolumes', request: {} }
    expect(callLine(call({ ...list, end: ended(0) }), who)?.text).toBe('ListVolumes OK, 3.0 ms')
    expect(callLine(call({ ...list, end: ended(14, 'no') }), who)?.text).toBe('ListVolumes Unavailable: no, 3.0 ms')
    expect(callLine(call({ end: ended(13, 'no') }), who)).toEqual({
      who,
      text: 'ControllerPublishVolume v on node-1: Internal: no, 3.0 ms',
      bad: true,
    })
  })
})

describe('CallLog', () => {
  it('the page counts consecutive failures of a call, and forgets them after a success', () => {
    const book = new CallLog()
    const failure = () => book.failure('v', who, ['ControllerPublishVolume'])
    book.end(call({ end: ended(13, 'no') }), who)
    book.end(call({ end: ended(13, 'no') }), who)
    expect(failure()).toEqual({ method: 'ControllerPublishVolume', code: 'Internal', message: 'no', times: 2 })
    expect(book.failure('v', 'kubelet/node-1', ['ControllerPublishVolume'])).toBeUndefined()
    expect(book.failure('other', who, ['ControllerPublishVolume'])).toBeUndefined()
    book.end(call({ end: ended(0) }), who)
    expect([failure(), book.summary()]).toEqual([undefined, []])
  })

  it('the page counts the volumes for which the same call fails', () => {
    const book = new CallLog()
    for (const volumeId of ['a', 'b', 'c']) book.end(call({ request: { volumeId }, end: ended(13) }), who)
    expect(book.summary()).toMatchObject([{ failure: { code: 'Internal' }, volumes: 3 }])
    book.forget('a')
    expect(book.summary()).toMatchObject([{ volumes: 2 }])
  })

  it('the page counts no failure for a call that still runs', () => {
    const book = new CallLog()
    book.end(call(), who)
    expect(book.summary()).toEqual([])
  })
})

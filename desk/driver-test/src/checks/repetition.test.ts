import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered, callOf, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { Repetitions } from './repetition.ts'

function brokenBy(...calls: readonly (readonly ProxiedCall[])[]): readonly string[] {
  const repetitions = new Repetitions()
  return calls.flat().flatMap((call) => repetitions.see(call).map(({ check, text }) => `${check}: ${text}`))
}

const va = { volumeId: 'vol', nodeId: 'a', readonly: false, secrets: { token: 'one' } }
const publish = (answer: Partial<ProxiedCall> = {}) => answered('ControllerPublishVolume', va, answer)
const unpublish = (nodeId = 'a') => answered('ControllerUnpublishVolume', { volumeId: 'vol', nodeId })
const FAILED = 'idempotence: ControllerPublishVolume of vol on a had succeeded, and failed when it was repeated'

describe('Repetitions', () => {
  it('the check accepts a repeated call that succeeds again', () => {
    expect(brokenBy(publish(), publish(), publish())).toEqual([])
  })

  it('the check reports a repeated call that ends with a permanent error after a success', () => {
    expect(brokenBy(publish(), publish({ code: 6 }))).toEqual([FAILED])
  })

  it('a call with other secrets still counts as a repetition', () => {
    const renewed = answered('ControllerPublishVolume', { ...va, secrets: { token: 'two' } }, { code: 6 })
    expect(brokenBy(publish(), renewed)).toEqual([FAILED])
  })

  it.each([1, 4, 8, 10, 14])('the check accepts code %i of a repeated call as a request for a retry', (code) => {
    expect(brokenBy(publish(), publish({ code }), publish({ code }))).toEqual([])
  })

  it.each([2, 13])('the check reports code %i of a repeated call only after two failures in a row', (code) => {
    expect(brokenBy(publish(), publish({ code }), publish(), publish({ code }))).toEqual([])
    expect(brokenBy(publish(), publish({ code }), publish({ code }), publish({ code }))).toEqual([FAILED])
  })

  it('the check accepts any error of a repeated call if the first call failed or got no answer', () => {
    expect(brokenBy(publish({ code: 9 }), publish({ code: 9 }))).toEqual([])
    expect(brokenBy(publish({ code: undefined }), publish({ code: 9 }))).toEqual([])
  })

  it('a call with other arguments does not count as a repetition', () => {
    expect(brokenBy(publish(), answered('ControllerPublishVolume', { ...va, readonly: true }, { code: 6 }))).toEqual([])
  })

  it('a second call does not count as a repetition if another call has undone the first call', () => {
    expect(brokenBy(publish(), unpublish(), publish({ code: 9 }))).toEqual([])
    expect(brokenBy(publish(), unpublish(''), publish({ code: 9 }))).toEqual([])
    expect(brokenBy(publish(), unpublish('b'), publish({ code: 9 }))).toEqual([FAILED])
    expect(brokenBy(publish(), answered('DeleteVolume', { volumeId: 'vol' }), publish({ code: 5 }))).toEqual([])
  })

  it('a second call does not count as a repetition while a third call undoes the first call', () => {
    const [begun, ended] = unpublish()
    expect(brokenBy(publish(), [begun], publish({ code: 9 }))).toEqual([])
    expect(brokenBy([begun], publish(), [ended], publish({ code: 9 }))).toEqual([])
    const [late, over] = publish({ code: 9 })
    expect(brokenBy(publish(), [late], [begun, ended], [over])).toEqual([])
  })

  it('the check reports a repeated CreateVolume that returns another volume for the same name', () => {
    expect(brokenBy(created('pvc', 'vol-1', 1n), created('pvc', 'vol-2', 1n))).toEqual([
      'oneVolume: CreateVolume of pvc gave volume vol-1, and then vol-2',
    ])
    const deleted = answered('DeleteVolume', { volumeId: 'vol-1' })
    expect(brokenBy(created('pvc', 'vol-1', 1n), deleted, created('pvc', 'vol-2', 1n))).toEqual([])
  })

  it('the check reports a repeated CreateSnapshot that returns another snapshot for the same name', () => {
    const createSnapshot = (snapshotId: string) =>
      answered('CreateSnapshot', { name: 's', sourceVolumeId: 'vol' }, { response: { snapshot: { snapshotId } } })
    expect(brokenBy(createSnapshot('snap-1'), createSnapshot('snap-2'))).toEqual([
      'snapshots: CreateSnapshot of s gave snapshot snap-1, and then snap-2',
    ])
    const deleted = answered('DeleteSnapshot', { snapshotId: 'snap-1' })
    expect(brokenBy(created('s', 'snap-1', 1n), createSnapshot('snap-1'), deleted, createSnapshot('snap-2'))).toEqual(
      [],
    )
  })

  it('the check reports a repeated call that returns another publish context, but not another order of its entries', () => {
    const context = (publishContext: object) => publish({ response: { publishContext } })
    expect(brokenBy(context({ a: '1', b: '2' }), context({ b: '2', a: '1' }))).toEqual([])
    expect(brokenBy(context({ device: '/dev/x' }), context({ device: '/dev/y' }))).toEqual([
      'context: the publish context of vol on a was {"device":"/dev/x"}, and then {"device":"/dev/y"}',
    ])
  })

  it('a call of a node service counts as a repetition only if its paths are equal', () => {
    const at = (method: string, targetPath: string, code = 0) =>
      answered(method, { volumeId: 'vol', targetPath, stagingTargetPath: '/s' }, { code })
    const broken = brokenBy(
      at('NodePublishVolume', '/t'),
      at('NodePublishVolume', '/t', 13),
      at('NodePublishVolume', '/t', 13),
    )
    expect(broken).toHaveLength(1)
    expect(
      brokenBy(at('NodePublishVolume', '/t'), at('NodeUnpublishVolume', '/t'), at('NodePublishVolume', '/t', 9)),
    ).toEqual([])
    expect(
      brokenBy(at('NodePublishVolume', '/t'), at('NodeUnpublishVolume', '/u'), at('NodePublishVolume', '/t', 9)),
    ).toHaveLength(1)
    expect(
      brokenBy(at('NodePublishVolume', '/t'), at('NodeUnstageVolume', ''), at('NodePublishVolume', '/t', 9)),
    ).toEqual([])
  })

  it('the check ignores repetitions of calls that need not be idempotent', () => {
    expect(
      brokenBy([callOf('ListVolumes', {})], answered('ListVolumes', {}), answered('ListVolumes', {}, { code: 9 })),
    ).toEqual([])
  })
})

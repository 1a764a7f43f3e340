import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { type LookAt, Targets } from './targets.ts'

const directory = { isDirectory: () => true }
const file = { isDirectory: () => false }

const publish = (kind = 'mount', code: number | undefined = 0) =>
  answered(
    'NodePublishVolume',
    { volumeId: 'vol', targetPath: '/t', volumeCapability: { accessType: { $case: kind } } },
    { code },
  )
const unpublish = (code: number | undefined = 0) =>
  answered('NodeUnpublishVolume', { volumeId: 'vol', targetPath: '/t' }, { code })

function brokenBy(found: ReturnType<LookAt>, ...calls: readonly (readonly ProxiedCall[])[]): readonly string[] {
  const targets = new Targets(() => found)
  return calls.flat().flatMap((call) => targets.see(call).map(({ check, text }) => `${check}: ${text}`))
}

describe('Targets', () => {
  it('the target path of NodePublishVolume passes as a directory, or as a file or device for mode Block', () => {
    expect([brokenBy(directory, publish()), brokenBy(file, publish('block'))].flat()).toEqual([])
  })

  it.each([
    ['there is nothing at /t', undefined, 'mount'],
    ['there is nothing at /t', undefined, 'block'],
    ['there is a directory, not a device, at /t', directory, 'block'],
    ['there is no directory at /t', file, 'mount'],
  ])('the target path of NodePublishVolume fails if %s', (text, found, kind) => {
    expect(brokenBy(found, publish(kind))).toEqual([`placed: NodePublishVolume of vol succeeded, and ${text}`])
  })

  it('the target path of NodePublishVolume fails if it still exists after NodeUnpublishVolume', () => {
    expect(brokenBy(undefined, unpublish())).toEqual([])
    expect(brokenBy(directory, unpublish())).toEqual([
      'placed: NodeUnpublishVolume of vol succeeded, and there still is something at /t',
    ])
  })

  it('the target path of NodePublishVolume passes unchecked after a failed call', () => {
    expect([brokenBy(undefined, publish('mount', 13)), brokenBy(directory, unpublish(13))].flat()).toEqual([])
  })

  it('the target path of NodePublishVolume passes unchecked while an earlier call without an answer may still run', () => {
    const [begun] = publish()
    const lost: typeof begun = { ...begun, end: begun.start + 1 }
    expect(brokenBy(directory, [begun, lost], unpublish())).toEqual([])
    expect(brokenBy(undefined, [begun, lost], publish(), publish())).toHaveLength(2)
  })
})

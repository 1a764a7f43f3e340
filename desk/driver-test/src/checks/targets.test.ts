import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { type ReadPath, Targets } from './targets.ts'

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

function brokenBy(found: ReturnType<ReadPath>, ...calls: readonly (readonly ProxiedCall[])[]): readonly string[] {
  const targets = new Targets(() => found)
  return calls.flat().flatMap((call) => targets.see(call).map(({ check, text }) => `${check}: ${text}`))
}

describe('Targets', () => {
  it('the check of target paths accepts a directory, and for mode Block a file or device', () => {
    expect([brokenBy(directory, publish()), brokenBy(file, publish('block'))].flat()).toEqual([])
  })

  it.each([
    ['there is nothing at /t', undefined, 'mount'],
    ['there is nothing at /t', undefined, 'block'],
    ['there is a directory, not a device, at /t', directory, 'block'],
    ['there is no directory at /t', file, 'mount'],
  ])('the check of target paths reports that %s', (text, found, kind) => {
    expect(brokenBy(found, publish(kind))).toEqual([`placed: NodePublishVolume of vol succeeded, and ${text}`])
  })

  it('the check of target paths reports a path that still exists after NodeUnpublishVolume', () => {
    expect(brokenBy(undefined, unpublish())).toEqual([])
    expect(brokenBy(directory, unpublish())).toEqual([
      'placed: NodeUnpublishVolume of vol succeeded, and there still is something at /t',
    ])
  })

  it('the check of target paths ignores failed calls', () => {
    expect([brokenBy(undefined, publish('mount', 13)), brokenBy(directory, unpublish(13))].flat()).toEqual([])
  })

  it('the check of target paths ignores a path if an earlier publish call may still be running there', () => {
    const [begun] = publish()
    const lost: typeof begun = { ...begun, end: begun.start + 1 }
    expect(brokenBy(directory, [begun, lost], unpublish())).toEqual([])
    expect(brokenBy(undefined, [begun, lost], publish(), publish())).toHaveLength(2)
  })
})

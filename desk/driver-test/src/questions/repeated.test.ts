import type { NodeUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { describe, expect, it } from '@jest/globals'
import { type EmulatedParts, foundDirectly } from '../testing/direct-setting.ts'
import { checkRepeated } from './repeated.ts'

/** Returns a bug: a repeated call of the method fails. */
const once =
  (method: string) =>
  ({ driver, nodes }: EmulatedParts): void => {
    for (const each of [driver, ...nodes]) {
      let called = 0
      each.script(method, (request: object) => {
        called += 1
        if (called > 1) throw new DriverFailure('INTERNAL', 'already')
        return each.usualAnswer<object, object>(method, request)
      })
    }
  }

/** Adds a bug: the driver fails a repeated unpublish of an inline volume. */
function forgetInline({ nodes }: EmulatedParts): void {
  for (const node of nodes) {
    const ended = new Set<string>()
    node.script('NodeUnpublishVolume', (request: NodeUnpublishVolumeRequest) => {
      const { volumeId } = request
      if (ended.has(volumeId)) throw new DriverFailure('NOT_FOUND', `${volumeId} does not exist`)
      if (volumeId.startsWith('csi-')) ended.add(volumeId)
      return node.usualAnswer<object, object>('NodeUnpublishVolume', request)
    })
  }
}

describe('checkRepeated', () => {
  it('the check of repeated calls repeats the calls for an inline volume', async () => {
    expect(await foundDirectly(() => undefined, checkRepeated, { inline: true })).toEqual({ findings: [], left: [] })
    const { findings } = await foundDirectly(forgetInline, checkRepeated, { inline: true })
    const text = expect.stringMatching(/^NodeUnpublishVolume of csi-.* had succeeded, and failed when it was repeated$/)
    expect(findings).toEqual([expect.objectContaining({ check: 'idempotence', text })])
  })

  it('the check of repeated calls accepts a correct driver, and leaves no volume', async () => {
    expect(await foundDirectly(() => undefined, checkRepeated)).toEqual({ findings: [], left: [] })
  })

  it.each([
    'ControllerPublishVolume',
    'ControllerUnpublishVolume',
    'ControllerExpandVolume',
    'NodeStageVolume',
    'NodeUnstageVolume',
    'NodePublishVolume',
    'NodeUnpublishVolume',
    'NodeExpandVolume',
  ])('`checkRepeated` finds a driver whose %s fails the second and third time', async (method) => {
    const { findings } = await foundDirectly(once(method), checkRepeated)
    const text = expect.stringMatching(
      new RegExp(`^${method} of vol-.* had succeeded, and failed when it was repeated$`),
    )
    expect(findings).toContainEqual(expect.objectContaining({ check: 'idempotence', text }))
  })
})

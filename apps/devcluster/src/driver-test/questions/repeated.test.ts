import { DriverFailure } from '@csi-sidecars/emulator'
import { describe, expect, it } from '@jest/globals'
import { type EmulatedParts, foundDirectly } from '../../testing/direct-setting.ts'
import { checkRepeated } from './repeated.ts'

/** Each call fails when it comes again. */
const once =
  (method: string) =>
  ({ driver, nodes }: EmulatedParts): void => {
    for (const each of [driver, ...nodes]) {
      let called = 0
      each.script(method, (request: object) => {
        called += 1
        if (called > 1) throw new DriverFailure('INTERNAL', 'already')
        return each.own<object, object>(method, request)
      })
    }
  }

describe('what is called twice', () => {
  it('finds nothing in a correct driver, and leaves nothing', async () => {
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
  ])('is a finding if %s fails the second and third time', async (method) => {
    const { findings } = await foundDirectly(once(method), checkRepeated)
    const text = expect.stringMatching(
      new RegExp(`^${method} of vol-.* had succeeded, and failed when it was repeated$`),
    )
    expect(findings).toContainEqual(expect.objectContaining({ check: 'idempotence', text }))
  })
})

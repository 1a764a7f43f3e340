import { DriverFailure } from '@csi-sidecars/emulator'
import { describe, expect, it } from '@jest/globals'
import { type EmulatedParts, foundDirectly } from '../testing/direct-setting.ts'
import { checkKills } from './killed.ts'

type Forget = (emulated: EmulatedParts) => void

const forgetAttachments: Forget = ({ driver }) => {
  for (const { attachments } of driver.volumes.all) attachments.clear()
}

const forgetVolumes: Forget = ({ driver }) => {
  for (const { id } of driver.volumes.all) driver.volumes.delete(id)
}

const forgetStages: Forget = ({ driver, nodes }) => {
  for (const { staged } of driver.volumes.all) staged.clear()
  for (const node of nodes) {
    node.script('NodePublishVolume', (request: { volumeId: string; stagingTargetPath: string }) => {
      const staged = node.volumes.get(request.volumeId)?.staged.has(request.stagingTargetPath)
      if (staged !== true) throw new DriverFailure('FAILED_PRECONDITION', 'it is not staged')
      return node.usualAnswer<object, object>('NodePublishVolume', request)
    })
  }
}

describe('checkKills', () => {
  it('the check accepts a driver that still has the volume, the attachment and the stage after a kill', async () => {
    expect(await foundDirectly(() => undefined, checkKills)).toEqual({ findings: [], left: [] })
  })

  it.each<readonly [string, Forget, RegExp]>([
    ['attachments', forgetAttachments, /was published to worker-1 and is not listed there after the driver was killed/],
    ['volumes', forgetVolumes, /was created and is not listed after the driver was killed/],
    ['stages', forgetStages, /was staged, and NodePublishVolume was answered with FailedPrecondition/],
  ])('a driver causes a finding if it has lost its %s after it was killed', async (_, forget, text) => {
    const { findings } = await foundDirectly(forget, checkKills)
    expect(findings).toContainEqual(expect.objectContaining({ check: 'kept', text: expect.stringMatching(text) }))
  })
})

import process from 'node:process'
import { CreateVolume, NodePublishVolume } from '@csi-sidecars/csi-proto'
import { DriverFailure } from '@csi-sidecars/emulator'
import { found, instead, onNodes, type Planted } from './planted.ts'

/** Bugs that show when the driver is killed, or ends; each start of the driver adds them after it has read its state. */
export const KILL_BUGS: Readonly<Record<string, Planted>> = {
  'attachments-lost-at-kill': found('kept', ({ controller }) => {
    for (const { attachments } of controller.volumes.all) attachments.clear()
  }),
  'volumes-lost-at-kill': found('kept', ({ controller }) => {
    for (const { id } of controller.volumes.all) controller.volumes.delete(id)
  }),
  'stages-lost-at-kill': found('kept', (whole) => {
    for (const { staged } of whole.controller.volumes.all) staged.clear()
    onNodes('kept', NodePublishVolume, ({ request, own, driver }) => {
      const { volumeId, stagingTargetPath: path } = request
      if (path !== '' && driver.volumes.get(volumeId)?.staged.has(path) !== true) {
        throw new DriverFailure('FAILED_PRECONDITION', `${volumeId} is not staged`)
      }
      return own()
    }).put(whole)
  }),
  /** The driver cannot read its stored state. */
  'never-starts-again': found('alive', ({ controller }) => {
    if (controller.volumes.all.length > 0) process.exit(3)
  }),
  'ends-at-clone': instead('alive', CreateVolume, ({ request, own }) => {
    if (request.volumeContentSource !== undefined) process.exit(3)
    return own()
  }),
}

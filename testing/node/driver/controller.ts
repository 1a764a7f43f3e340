import { type CsiRequest, type CsiResponse, DriverFailure } from '@csi-sidecars/emulator'
import type { Storage } from './storage.ts'

/** Returns functions by method, which store the decisions of the emulated controller service. */
export function controllerEffects(storage: Storage) {
  const save = async ({ volumeId }: { readonly volumeId: string }): Promise<void> => {
    // A volume that does not exist may be detached.
    if (storage.volumes.get(volumeId) !== undefined) await storage.save(volumeId)
  }
  return {
    ControllerPublishVolume: save,
    ControllerUnpublishVolume: save,
    ControllerExpandVolume: save,
    ControllerModifyVolume: save,

    async CreateVolume(request: CsiRequest<'CreateVolume'>, { volume }: CsiResponse<'CreateVolume'>): Promise<void> {
      const id = volume?.volumeId ?? ''
      const types = new Set(request.volumeCapabilities.map(({ accessType }) => accessType?.$case))
      if (types.size > 1) throw new DriverFailure('INVALID_ARGUMENT', 'a volume has one access type')
      const isBlock = types.has('block')
      const type = request.volumeContentSource?.type
      const from =
        type?.$case === 'snapshot'
          ? ({ kind: 'snapshots', id: type.value.snapshotId } as const)
          : type && ({ kind: 'volumes', id: type.value.volumeId } as const)
      if (await storage.has('volumes', id)) {
        if ((await storage.isBlock('volumes', id)) === isBlock) return
        throw new DriverFailure('ALREADY_EXISTS', `volume ${request.name} exists with another access type`)
      }
      if (from !== undefined && (await storage.isBlock(from.kind, from.id)) !== isBlock)
        throw new DriverFailure('INVALID_ARGUMENT', `${from.id} has another access type`)
      await storage.create('volumes', id, from ?? (isBlock ? 'file' : 'directory'))
    },

    async DeleteVolume({ volumeId }: CsiRequest<'DeleteVolume'>): Promise<void> {
      if (!(await storage.has('volumes', volumeId))) return
      if (await storage.isInUse(volumeId))
        throw new DriverFailure('FAILED_PRECONDITION', `volume ${volumeId} is mounted`)
      await storage.remove('volumes', volumeId)
    },

    async CreateSnapshot(
      { sourceVolumeId }: CsiRequest<'CreateSnapshot'>,
      { snapshot }: CsiResponse<'CreateSnapshot'>,
    ): Promise<void> {
      const id = snapshot?.snapshotId ?? ''
      if (await storage.has('snapshots', id)) return
      await storage.create('snapshots', id, { kind: 'volumes', id: sourceVolumeId })
    },

    async DeleteSnapshot({ snapshotId }: CsiRequest<'DeleteSnapshot'>): Promise<void> {
      if (await storage.has('snapshots', snapshotId)) await storage.remove('snapshots', snapshotId)
    },
  }
}

import { mkdir, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises'
import { systemClock, systemCodeOf } from '@csi-sidecars/base'
import { type VolumeCapability, VolumeUsage_Unit } from '@csi-sidecars/csi-proto'
import { type CsiRequest, type CsiResponse, DriverFailure } from '@csi-sidecars/emulator'
import type { Storage } from './storage.ts'

/** The options that a mount of a directory can have. All others are options of the file system below it. */
const OPTION = /^(ro|rw|strictatime|(no)?(suid|dev|exec|atime|diratime|relatime))$/

/** The kernel detaches a loop device when its last opener has closed it, for example another losetup that looks at it. */
const DETACH_TRIES = 100
const DETACH_PAUSE_MS = 100

const isBlock = (capability: VolumeCapability | undefined): boolean => capability?.accessType?.$case === 'block'

/** Returns functions by method, which mount the volumes that the emulated node service has accepted. */
export function nodeEffects(storage: Storage) {
  const { machine } = storage
  const isMounted = async (path: string): Promise<boolean> =>
    (await machine.mounts()).some(({ point }) => point === path)
  const unmount = async (target: string): Promise<void> => {
    while (await isMounted(target)) await machine.run('umount', target)
  }
  const mount = async (source: string, target: string, options: readonly string[]): Promise<void> => {
    if (!(await isMounted(target))) await machine.run('mount', '-o', ['bind', ...options].join(','), source, target)
  }
  /** Returns the source of mounts: the directory of a volume, or its loop device, which is attached if necessary. */
  const sourceOf = async (id: string, capability: VolumeCapability | undefined): Promise<string> => {
    if ((await storage.isBlock('volumes', id)) !== isBlock(capability))
      throw new DriverFailure('INVALID_ARGUMENT', `volume ${id} has another access type`)
    const data = storage.pathOf('volumes', id)
    if (!isBlock(capability)) return data
    return (await storage.deviceOf(id)) ?? (await machine.run('losetup', '--find', '--show', data))
  }
  const detach = async (id: string): Promise<void> => {
    const device = await storage.deviceOf(id)
    if (device === undefined) return
    await machine.run('losetup', '--detach', device)
    for (let tries = 0; tries < DETACH_TRIES; tries += 1) {
      if ((await storage.deviceOf(id)) === undefined) return
      await systemClock.sleep(DETACH_PAUSE_MS)
    }
    throw new DriverFailure('INTERNAL', `${device} of volume ${id} is still open in another process`)
  }
  return {
    async NodeStageVolume(request: CsiRequest<'NodeStageVolume'>): Promise<void> {
      const { volumeId, stagingTargetPath: target, volumeCapability } = request
      const options = optionsOf(volumeCapability)
      const source = await sourceOf(volumeId, volumeCapability)
      if (!isBlock(volumeCapability)) await mount(source, target, options)
      await storage.save(volumeId)
    },

    async NodeUnstageVolume({ volumeId, stagingTargetPath }: CsiRequest<'NodeUnstageVolume'>): Promise<void> {
      await unmount(stagingTargetPath)
      await detach(volumeId)
      await storage.save(volumeId)
    },

    async NodePublishVolume(request: CsiRequest<'NodePublishVolume'>): Promise<void> {
      const { volumeId, targetPath: target, volumeCapability, readonly } = request
      const options = [...optionsOf(volumeCapability), ...(readonly ? ['ro'] : [])]
      // The emulator has added an inline volume, which the kubelet creates by publishing it.
      if (!(await storage.has('volumes', volumeId))) await storage.create('volumes', volumeId, 'directory')
      const source = await sourceOf(volumeId, volumeCapability)
      if (isBlock(volumeCapability)) await writeFile(target, '', { flag: 'a' })
      else await mkdir(target, { recursive: true })
      await mount(source, target, options)
      await storage.save(volumeId)
    },

    async NodeUnpublishVolume({ volumeId, targetPath }: CsiRequest<'NodeUnpublishVolume'>): Promise<void> {
      await unmount(targetPath)
      await removeTarget(targetPath)
      if (storage.volumes.get(volumeId) !== undefined) await storage.save(volumeId)
      // The emulator has removed an inline volume.
      else if (await storage.has('volumes', volumeId)) await storage.remove('volumes', volumeId)
    },

    async NodeGetVolumeStats(
      { volumeId, volumePath }: CsiRequest<'NodeGetVolumeStats'>,
      response: CsiResponse<'NodeGetVolumeStats'>,
    ): Promise<CsiResponse<'NodeGetVolumeStats'>> {
      if (await storage.isBlock('volumes', volumeId)) return response
      const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(volumePath, { bigint: true })
      const { BYTES, INODES } = VolumeUsage_Unit
      const bytes = { unit: BYTES, total: blocks * bsize, available: bavail * bsize, used: (blocks - bfree) * bsize }
      const inodes = { unit: INODES, total: files, available: ffree, used: files - ffree }
      return { ...response, usage: [bytes, inodes] }
    },

    async NodeExpandVolume({ volumeId }: CsiRequest<'NodeExpandVolume'>): Promise<void> {
      const device = await storage.deviceOf(volumeId)
      if (device !== undefined) await machine.run('losetup', '--set-capacity', device)
    },
  }
}

function optionsOf(capability: VolumeCapability | undefined): readonly string[] {
  const type = capability?.accessType
  const flags = type?.$case === 'mount' ? type.value.mountFlags : []
  const unknown = flags.find((flag) => !OPTION.test(flag))
  if (unknown === undefined) return flags
  throw new DriverFailure('INVALID_ARGUMENT', `${JSON.stringify(unknown)} is no mount option of a directory`)
}

/** Removes the mount point. Throws if it has files: nothing is mounted there, so they are not those of the volume. */
async function removeTarget(path: string): Promise<void> {
  try {
    if ((await stat(path)).isDirectory()) await rmdir(path)
    else await rm(path)
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error
  }
}

import { ProvisionError } from './failure.ts'

export interface NameRule {
  readonly volumeNamePrefix: string
  /** -1: the UID as it is. */
  readonly volumeNameUuidLength: number
}

/** The name of the volume at the driver and of its PersistentVolume. The same claim always has the same name. */
export function volumeNameOf(uid: string, { volumeNamePrefix, volumeNameUuidLength }: NameRule): string {
  if (volumeNamePrefix === '') throw new ProvisionError('volume name prefix cannot be of length 0')
  if (uid === '') throw new ProvisionError('corrupted PVC object, it is missing UID')
  const id = volumeNameUuidLength < 0 ? uid : uid.replaceAll('-', '').slice(0, volumeNameUuidLength)
  return `${volumeNamePrefix}-${id}`
}

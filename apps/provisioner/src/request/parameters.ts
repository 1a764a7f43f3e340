import { ProvisionError } from './failure.ts'
import { SECRET_KEYS } from './secrets.ts'

type Parameters = Readonly<Record<string, string>>

/** Parameters with this prefix are for the provisioner and never reach the driver. */
export const RESERVED = 'csi.storage.k8s.io/'
export const FS_TYPE = `${RESERVED}fstype`

const KNOWN: ReadonlySet<string> = new Set([FS_TYPE, ...SECRET_KEYS])

export interface FsType {
  readonly fsType: string
  /** The class uses the old name of the parameter. */
  readonly deprecated: boolean
}

/** The file system of the class, else the default one. */
export function fsTypeOf(parameters: Parameters, defaultFsType: string): FsType {
  const found = Object.entries(parameters).filter(([key]) => key === FS_TYPE || isOldFsType(key))
  if (found.length > 1) {
    throw new ProvisionError(`fstype specified in parameters with both "fstype" and "${FS_TYPE}" keys`)
  }
  return { fsType: found[0]?.[1] || defaultFsType, deprecated: found.some(([key]) => isOldFsType(key)) }
}

const isOldFsType = (key: string): boolean => key.toLowerCase() === 'fstype'

/** The parameters for the driver. */
export function driverParameters(parameters: Parameters): Record<string, string> {
  const kept = Object.entries(parameters).filter(([key]) => !key.startsWith(RESERVED))
  const unknown = Object.keys(parameters).find((key) => key.startsWith(RESERVED) && !KNOWN.has(key))
  if (unknown !== undefined) {
    const why = `found unknown parameter key "${unknown}" with reserved namespace ${RESERVED}`
    throw new ProvisionError(`failed to strip CSI Parameters of prefixed keys: ${why}`)
  }
  return Object.fromEntries(kept)
}

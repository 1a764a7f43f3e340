import type { SidecarApp } from './cluster/binaries.ts'

/** Returns the definition of a flag that needs a text or a number as its value. */
export const textFlag = (describe: string) => ({ type: 'string', describe, requiresArg: true }) as const
export const numberFlag = (describe: string) => ({ type: 'number', describe, requiresArg: true }) as const

/** The flags `--attacher`, `--resizer` and so on, which replace the binary of a sidecar. */
export const SIDECAR_FLAGS = {
  attacher: textFlag('Another csi-attacher to run'),
  resizer: textFlag('Another csi-resizer to run'),
  provisioner: textFlag('Another csi-provisioner to run'),
  snapshotter: textFlag('Another csi-snapshotter to run'),
} as const satisfies Record<SidecarApp, object>

/** The length limit of the path of a unix socket on Linux, in bytes, without the zero byte at the end. */
const MAX_PATH_BYTES = 107

/** Returns the address if it is `unix:///path` or `/path`. Otherwise throws an error of one line. */
export function addressOf(flag: string, address: string): string {
  if (Buffer.byteLength(address.replace(/^unix:\/\//, '')) > MAX_PATH_BYTES) {
    throw new Error(`--${flag} ${address}: the path of a socket has ${MAX_PATH_BYTES} bytes at most`)
  }
  if (!/^unix:\/\/.|^\//.test(address)) {
    throw new Error(`--${flag} ${address}: only unix sockets are known, as unix:///path`)
  }
  return address
}

export function positive(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number of 1 or more`)
  return value
}

import type { CSIPersistentVolumeSource, SecretReference } from '@csi-sidecars/kube-types'

/** Returns a CSI source without false and empty fields, as in the API. Only the volume handle may be empty. */
export function csiSource(source: {
  readonly driver: string
  readonly volumeHandle: string | undefined
  readonly fsType?: string | undefined
  readonly readOnly?: boolean | undefined
  readonly volumeAttributes?: { readonly [key: string]: string }
}): CSIPersistentVolumeSource {
  const { driver, volumeHandle, fsType, readOnly, volumeAttributes = {} } = source
  return {
    driver,
    volumeHandle: volumeHandle ?? '',
    ...fsTypeAndReadOnly({ fsType, readOnly }),
    ...(Object.keys(volumeAttributes).length > 0 && { volumeAttributes }),
  }
}

/** Returns `fsType` and `readOnly`, unless they are empty or false. */
export function fsTypeAndReadOnly({ fsType, readOnly }: FsTypeAndReadOnly): FsTypeAndReadOnly {
  return { ...(readOnly && { readOnly }), ...(fsType && { fsType }) }
}

interface FsTypeAndReadOnly {
  readonly fsType?: string | undefined
  readonly readOnly?: boolean | undefined
}

export function secretReference(name: string | undefined, namespace: string | undefined): SecretReference {
  return { ...(name && { name }), ...(namespace && { namespace }) }
}

import type { Cached } from '@csi-sidecars/informer'
import type { VolumeSnapshotClass } from '@csi-sidecars/kube-types'

/** A VolumeSnapshotClass or a VolumeGroupSnapshotClass of any driver. */
export interface SnapshotClass extends Cached {
  readonly driver: string
  readonly parameters: Readonly<Record<string, string>>
}

export function projectClass({ metadata, driver, parameters }: VolumeSnapshotClass): SnapshotClass {
  const { name = '', resourceVersion = '', uid = '' } = metadata ?? {}
  return { key: name, resourceVersion, uid, driver: driver ?? '', parameters: parameters ?? {} }
}

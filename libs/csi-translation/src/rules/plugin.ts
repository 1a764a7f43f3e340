import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
  StorageClass,
  Volume,
} from '@csi-sidecars/kube-types'
import type { Affinity, TopologyLabels } from './topology.ts'

/** The fields of PersistentVolumes and of volumes in pods that contain the source of an in-tree plugin. */
export type SourceField =
  | 'awsElasticBlockStore'
  | 'azureDisk'
  | 'azureFile'
  | 'cinder'
  | 'gcePersistentDisk'
  | 'portworxVolume'
  | 'vsphereVolume'

export type VolumeSource<Field extends SourceField> = NonNullable<PersistentVolumeSpec[Field]>
export type InlineSource<Field extends SourceField> = NonNullable<Volume[Field]>

/** The rules of one in-tree plugin. A source may lack any field, even a required field. */
export interface PluginRules<Field extends SourceField> {
  readonly inTreeName: string
  readonly driverName: string
  readonly field: Field
  volumeToCsi(source: VolumeSource<Field>, pv: PersistentVolume): CsiSpec
  inlineToCsi(source: InlineSource<Field>, volume: Volume, podNamespace: string): InlineVolume
  /** Returns the in-tree source for a CSI source, whose handle may be empty. */
  volumeToInTree(csi: CSIPersistentVolumeSource, pv: PersistentVolume): InTreeSource<Field>
  classToCsi(storageClass: StorageClass): StorageClass
  /** Completes a handle that was built without the location of the volume. */
  readonly repairHandle?: (handle: string, nodeId: string) => string
}

/** The fields of the spec of a PersistentVolume that a translation changes. Undefined fields stay as they are. */
export interface CsiSpec {
  readonly csi: CSIPersistentVolumeSource
  readonly nodeAffinity?: Affinity | undefined
  readonly accessModes?: readonly string[] | undefined
}

/** A translated volume that stands in a pod, not in a PersistentVolume. */
export interface InlineVolume {
  /**
   * The name of the PersistentVolume for a volume in a pod. It must be unique for each disk, because the staging path
   * contains it. Default: the name of the driver and the volume handle.
   */
  readonly name?: string
  readonly csi: CSIPersistentVolumeSource
  /** The access mode. Default: ReadWriteOnce. */
  readonly accessMode?: string
}

/** The in-tree form of a PersistentVolume's source, with what the plugin stores outside the source. */
export interface InTreeSource<Field extends SourceField> {
  readonly source: VolumeSource<Field>
  readonly nodeAffinity?: Affinity | undefined
  readonly labels?: TopologyLabels | undefined
  readonly annotations?: TopologyLabels | undefined
}

/** An in-tree plugin. Its functions never change their input. Results share unchanged parts with the input. */
export interface InTreePlugin {
  readonly inTreeName: string
  readonly driverName: string
  ownsVolume(pv: PersistentVolume): boolean
  ownsInline(volume: Volume): boolean
  /** Returns undefined for a volume of another plugin. */
  volumeToCsi(pv: PersistentVolume): PersistentVolume | undefined
  inlineToCsi(volume: Volume, podNamespace: string): PersistentVolume | undefined
  volumeToInTree(csi: CSIPersistentVolumeSource, pv: PersistentVolume): PersistentVolume
  classToCsi(storageClass: StorageClass): StorageClass
  repairHandle(handle: string, nodeId: string): string
}

export function createPlugin<Field extends SourceField>(rules: PluginRules<Field>): InTreePlugin {
  const { inTreeName, driverName, field } = rules
  return {
    inTreeName,
    driverName,
    ownsVolume: (pv) => (pv.spec?.[field] ?? undefined) !== undefined,
    ownsInline: (volume) => (volume[field] ?? undefined) !== undefined,
    volumeToCsi: (pv) => {
      const { [field]: source, ...rest } = pv.spec ?? {}
      if (source === undefined || source === null) return undefined
      return { ...pv, spec: { ...rest, ...defined(rules.volumeToCsi(source, pv)) } }
    },
    inlineToCsi: (volume, podNamespace) => {
      const source = volume[field] ?? undefined
      if (source === undefined) return undefined
      const { csi, accessMode = 'ReadWriteOnce', ...metadata } = rules.inlineToCsi(source, volume, podNamespace)
      const { name = `${driverName}-${csi.volumeHandle}` } = metadata
      // A volume in a pod is never a block device. No API server adds the default volume mode, so it is set here.
      return {
        metadata: name === '' ? {} : { name },
        spec: { csi, accessModes: [accessMode], volumeMode: 'Filesystem' },
      }
    },
    volumeToInTree: (csi, pv) => {
      const sound = { ...csi, volumeHandle: csi.volumeHandle ?? '' }
      const { source, nodeAffinity, labels, annotations } = rules.volumeToInTree(sound, pv)
      const { csi: _translated, ...rest } = pv.spec ?? {}
      return {
        ...pv,
        metadata: { ...pv.metadata, ...defined({ labels, annotations }) },
        spec: { ...rest, ...defined({ nodeAffinity }), [field]: source },
      }
    },
    classToCsi: rules.classToCsi,
    repairHandle: rules.repairHandle ?? ((handle) => handle),
  }
}

function defined<T extends object>(changes: T): Partial<T> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<T>
}

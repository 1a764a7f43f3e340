import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
  StorageClass,
  Volume,
} from '@csi-sidecars/kube-types'
import type { Affinity, TopologyLabels } from './topology.ts'

/** The fields in which volumes and pods name a source of an in-tree plugin. */
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

/** One in-tree plugin. Sources may lack any field, even required ones: an empty object is a source too. */
export interface PluginRules<Field extends SourceField> {
  readonly inTreeName: string
  readonly driverName: string
  readonly field: Field
  volumeToCsi(source: VolumeSource<Field>, pv: PersistentVolume): CsiSpec
  inlineToCsi(source: InlineSource<Field>, volume: Volume, podNamespace: string): InlineVolume
  /** The source has a handle at least, if an empty one. */
  volumeToInTree(csi: CSIPersistentVolumeSource, pv: PersistentVolume): InTreeSource<Field>
  classToCsi(storageClass: StorageClass): StorageClass
  /** Completes a handle that was made without knowing where the volume is. */
  readonly repairHandle?: (handle: string, nodeId: string) => string
}

/** The parts of a volume's spec that translation changes; what is undefined stays as it is. */
export interface CsiSpec {
  readonly csi: CSIPersistentVolumeSource
  readonly nodeAffinity?: Affinity | undefined
  readonly accessModes?: readonly string[] | undefined
}

export interface InlineVolume {
  /** Unique for each disk: the staging path is made of it. By default the driver's name and the handle. */
  readonly name?: string
  readonly csi: CSIPersistentVolumeSource
  /** ReadWriteOnce by default. */
  readonly accessMode?: string
}

export interface InTreeSource<Field extends SourceField> {
  readonly source: VolumeSource<Field>
  readonly nodeAffinity?: Affinity | undefined
  readonly labels?: TopologyLabels | undefined
  readonly annotations?: TopologyLabels | undefined
}

/** A plugin of any kind. Whatever it is given stays unchanged; results share their unchanged parts with it. */
export interface InTreePlugin {
  readonly inTreeName: string
  readonly driverName: string
  ownsVolume(pv: PersistentVolume): boolean
  ownsInline(volume: Volume): boolean
  /** Undefined for a volume of another plugin. */
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
      const { csi, accessMode = 'ReadWriteOnce', ...given } = rules.inlineToCsi(source, volume, podNamespace)
      const { name = `${driverName}-${csi.volumeHandle}` } = given
      // A pod's own volume is never a block device, and nothing defaults the mode later.
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

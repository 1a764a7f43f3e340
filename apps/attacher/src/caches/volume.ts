import { crc32 } from 'node:zlib'
import { isPVMigratable } from '@csi-sidecars/csi-translation'
import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolume, PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import { text, textMap, texts } from './fields.ts'

/** On in-tree PersistentVolumes: the CSI driver that serves them now. */
export const MIGRATED_TO_ANNOTATION = 'pv.kubernetes.io/migrated-to'

/**
 * What is kept of a PersistentVolume.
 * - `own`: a CSI volume of this driver; its spec without what no call needs.
 * - `inTree`: may be served by a CSI driver after translation, which needs labels and affinity too.
 * - `foreign`: another driver's. Kept so that it is known to exist; its source is read when a call needs it.
 * - `other`: neither CSI nor translatable.
 */
export type VolumeKind = 'own' | 'inTree' | 'foreign' | 'other'

export interface Volume extends Cached {
  readonly kind: VolumeKind
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  readonly migratedTo: string | undefined
  /** Of `foreign` only, instead of its handle: by this its calls keep out of each other's way. */
  readonly handleDigest: number | undefined
  /** The access modes as a number, one bit each. */
  readonly modes: number
  /** Of `own` only. */
  readonly spec: PersistentVolumeSpec | undefined
  /** Of `inTree` only. */
  readonly inTree: PersistentVolume | undefined
}

export function volumeProjection(driverName: string): (pv: PersistentVolume, intern?: Interner) => Volume {
  return (pv, intern = new Interner()) => {
    const kind = kindOf(pv, driverName)
    return {
      key: pv.metadata?.name ?? '',
      resourceVersion: pv.metadata?.resourceVersion ?? '',
      uid: pv.metadata?.uid ?? '',
      kind,
      deleting: pv.metadata?.deletionTimestamp != null,
      finalizers: intern.list(texts(pv.metadata?.finalizers)),
      migratedTo: intern.text(text(pv.metadata?.annotations?.[MIGRATED_TO_ANNOTATION])),
      handleDigest: kind === 'foreign' ? digestOf(text(pv.spec?.csi?.volumeHandle)) : undefined,
      modes: modesOf(texts(pv.spec?.accessModes)),
      spec: kind === 'own' ? callSpec(pv.spec, intern) : undefined,
      inTree: kind === 'inTree' ? translatable(pv) : undefined,
    }
  }
}

function kindOf(pv: PersistentVolume, driverName: string): VolumeKind {
  if (pv.spec?.csi != null) return pv.spec.csi.driver === driverName ? 'own' : 'foreign'
  return isPVMigratable(pv) ? 'inTree' : 'other'
}

const MODES = ['ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const FOR_MANY_NODES = modesOf(['ReadWriteMany', 'ReadOnlyMany'])

/** One bit for each known access mode, and one for all others together. */
export function modesOf(accessModes: readonly string[] = []): number {
  let bits = 0
  for (const mode of accessModes) bits |= 1 << (MODES.indexOf(mode) + 1)
  return bits
}

export function forManyNodes(modes: number): boolean {
  return (modes & FOR_MANY_NODES) !== 0
}

/** A number that V8 keeps in place, unlike the text. Two handles that share one only wait for each other. */
function digestOf(handle = ''): number {
  return crc32(handle) | 0
}

/** The part of a spec that publish and unpublish are made of, its CSI source if there is one. */
export function callSpec(spec: PersistentVolumeSpec = {}, intern = new Interner()): PersistentVolumeSpec {
  return {
    accessModes: intern.list(texts(spec.accessModes)),
    volumeMode: intern.text(spec.volumeMode),
    mountOptions: intern.list(texts(spec.mountOptions)),
    csi: spec.csi == null ? undefined : csiSource(spec.csi, intern),
  }
}

type CsiSource = NonNullable<PersistentVolumeSpec['csi']>

function csiSource(source: CsiSource, intern: Interner): CsiSource {
  return {
    driver: intern.text(text(source.driver) ?? ''),
    volumeHandle: text(source.volumeHandle) ?? '',
    readOnly: source.readOnly,
    fsType: intern.text(text(source.fsType)),
    volumeAttributes: intern.map(textMap(source.volumeAttributes)),
    controllerPublishSecretRef: source.controllerPublishSecretRef,
  }
}

/** Translation reads name, labels, annotations and spec, of the claim its namespace. */
function translatable({ metadata, spec }: PersistentVolume): PersistentVolume {
  const { name, labels, annotations } = metadata ?? {}
  const { namespace } = spec?.claimRef ?? {}
  const read = { accessModes: texts(spec?.accessModes), claimRef: { namespace } }
  return { metadata: { name, labels, annotations }, spec: { ...spec, ...read } }
}

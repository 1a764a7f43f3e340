import { crc32 } from 'node:zlib'
import { isPVMigratable } from '@csi-sidecars/csi-translation'
import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolume, PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import { asText, asTextMap, asTexts } from './fields.ts'

/** The annotation of an in-tree PersistentVolume with the name of the CSI driver that serves it. */
export const MIGRATED_TO_ANNOTATION = 'pv.kubernetes.io/migrated-to'

/**
 * The kinds of a cached PersistentVolume.
 * - `own`: a CSI volume of this driver. Its spec is cached, without the fields that no call needs.
 * - `inTree`: a volume that a CSI driver may serve after translation. Translation needs its labels and its affinity
 *   too.
 * - `foreign`: a volume of another driver. Its source is read from the API server when a call needs it.
 * - `other`: a volume that is neither CSI nor translatable.
 */
export type CachedVolumeKind = 'own' | 'inTree' | 'foreign' | 'other'

/** A PersistentVolume with only the fields that the attacher reads. */
export interface CachedVolume extends Cached {
  readonly kind: CachedVolumeKind
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  readonly migratedTo: string | undefined
  /** A hash of the volume handle if the volume belongs to another driver. The queue uses it to distinguish volumes. */
  readonly handleDigest: number | undefined
  /** The access modes as a number, one bit each. */
  readonly modes: number
  /** The fields that calls need, if `kind` is `own`. */
  readonly spec: PersistentVolumeSpec | undefined
  /** The fields that translation needs, if `kind` is `inTree`. */
  readonly inTree: PersistentVolume | undefined
}

export function volumeProjection(driverName: string): (pv: PersistentVolume, intern?: Interner) => CachedVolume {
  return (pv, intern = new Interner()) => {
    const kind = kindOf(pv, driverName)
    return {
      key: pv.metadata?.name ?? '',
      resourceVersion: pv.metadata?.resourceVersion ?? '',
      uid: pv.metadata?.uid ?? '',
      kind,
      deleting: pv.metadata?.deletionTimestamp != null,
      finalizers: intern.list(asTexts(pv.metadata?.finalizers)),
      migratedTo: intern.text(asText(pv.metadata?.annotations?.[MIGRATED_TO_ANNOTATION])),
      handleDigest: kind === 'foreign' ? digestOf(asText(pv.spec?.csi?.volumeHandle)) : undefined,
      modes: modesOf(asTexts(pv.spec?.accessModes)),
      spec: kind === 'own' ? callSpec(pv.spec, intern) : undefined,
      inTree: kind === 'inTree' ? translatable(pv) : undefined,
    }
  }
}

function kindOf(pv: PersistentVolume, driverName: string): CachedVolumeKind {
  if (pv.spec?.csi != null) return pv.spec.csi.driver === driverName ? 'own' : 'foreign'
  return isPVMigratable(pv) ? 'inTree' : 'other'
}

const MODES = ['ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOnce', 'ReadWriteOncePod']
const FOR_MANY_NODES = modesOf(['ReadWriteMany', 'ReadOnlyMany'])

/** Returns one bit for each known access mode, and one bit for all unknown modes. */
export function modesOf(accessModes: readonly string[] = []): number {
  let bits = 0
  for (const mode of accessModes) bits |= 1 << (MODES.indexOf(mode) + 1)
  return bits
}

export function forManyNodes(modes: number): boolean {
  return (modes & FOR_MANY_NODES) !== 0
}

/** Returns a hash of a volume handle. Two handles with equal hashes do no harm: their calls wait for each other. */
function digestOf(handle = ''): number {
  return crc32(handle) | 0
}

/** Returns the fields of the spec that ControllerPublishVolume and ControllerUnpublishVolume need. */
export function callSpec(spec: PersistentVolumeSpec = {}, intern = new Interner()): PersistentVolumeSpec {
  return {
    accessModes: intern.list(asTexts(spec.accessModes)),
    volumeMode: intern.text(spec.volumeMode),
    mountOptions: intern.list(asTexts(spec.mountOptions)),
    csi: spec.csi == null ? undefined : csiSource(spec.csi, intern),
  }
}

type CsiSource = NonNullable<PersistentVolumeSpec['csi']>

function csiSource(source: CsiSource, intern: Interner): CsiSource {
  return {
    driver: intern.text(asText(source.driver) ?? ''),
    volumeHandle: asText(source.volumeHandle) ?? '',
    readOnly: source.readOnly,
    fsType: intern.text(asText(source.fsType)),
    volumeAttributes: intern.map(asTextMap(source.volumeAttributes)),
    controllerPublishSecretRef: source.controllerPublishSecretRef,
  }
}

/** Returns the fields that translation reads: name, labels, annotations, spec, and the namespace of the claim. */
function translatable({ metadata, spec }: PersistentVolume): PersistentVolume {
  const { name, labels, annotations } = metadata ?? {}
  const { namespace } = spec?.claimRef ?? {}
  const read = { accessModes: asTexts(spec?.accessModes), claimRef: { namespace } }
  return { metadata: { name, labels, annotations }, spec: { ...spec, ...read } }
}

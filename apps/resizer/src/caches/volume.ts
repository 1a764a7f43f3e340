import { isMigratedCSIDriverByName, isPVMigratable } from '@csi-sidecars/csi-translation'
import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolume, PersistentVolumeSpec } from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'
import { sizeText } from './claim.ts'
import { MODIFY_SECRET_NAME_ANNOTATION, MODIFY_SECRET_NAMESPACE_ANNOTATION, PRE_RESIZE_ANNOTATION } from './names.ts'

/**
 * The kinds of cached PersistentVolumes.
 * - `own`: a CSI volume of this driver, with all fields that calls to the driver need.
 * - `inTree`: an in-tree volume. CSI migration may assign it to this driver, and needs its labels and affinity.
 * - `other`: any other volume. The resizer removes the annotation with the old size from such volumes too. If the claim
 * names this driver, the missing fields are read from the API server.
 */
export type VolumeKind = 'own' | 'inTree' | 'other'

/** The cached fields of a PersistentVolume. The objects are flat to save memory: tens of thousands are cached. */
export interface ResizerVolume extends Cached {
  readonly kind: VolumeKind
  /** The size of the volume: `spec.capacity.storage`. */
  readonly capacity: string | undefined
  /** The annotation `volume.alpha.kubernetes.io/pre-resize-capacity` with the claim's size before the expansion. */
  readonly preResize: string | undefined
  /** The claim that the volume is bound to. Undefined for volumes of kind `other`. */
  readonly claimNamespace: string | undefined
  readonly claimName: string | undefined
  readonly claimUid: string | undefined
  /** The fields for calls (`kind` is `own`) or for translation (`kind` is `inTree`). */
  readonly source: PersistentVolume | undefined
  /** The VolumeAttributesClass of the volume and the Secret for modifications, if `kind` is `own`. */
  readonly className: string | undefined
  readonly modifySecret: SecretRef | undefined
}

export function volumeProjection(driverName: string): (pv: PersistentVolume, intern?: Interner) => ResizerVolume {
  const migrated = isMigratedCSIDriverByName(driverName)
  return (pv, intern = new Interner()) => projectVolume(pv, kindOf(pv, driverName, migrated), intern)
}

/** Returns a projection that caches only volumes of this driver and of this node, for `--node-deployment`. */
export function ownVolumeProjection(
  driverName: string,
  isOwn: (pv: PersistentVolume) => boolean,
): (pv: PersistentVolume, intern: Interner) => ResizerVolume | undefined {
  const migrated = isMigratedCSIDriverByName(driverName)
  return (pv, intern) => {
    const kind = kindOf(pv, driverName, migrated)
    return kind === 'other' || !isOwn(pv) ? undefined : projectVolume(pv, kind, intern)
  }
}

/** Returns a volume of any driver with all fields that calls need. The result is not cached. */
export function wholeVolume(pv: PersistentVolume): ResizerVolume {
  return projectVolume(pv, pv.spec?.csi == null ? 'inTree' : 'own', new Interner())
}

function kindOf(pv: PersistentVolume, driverName: string, migrated: boolean): VolumeKind {
  if (pv.spec?.csi != null) return pv.spec.csi.driver === driverName ? 'own' : 'other'
  return migrated && isPVMigratable(pv) ? 'inTree' : 'other'
}

function projectVolume(pv: PersistentVolume, kind: VolumeKind, intern: Interner): ResizerVolume {
  const { metadata, spec } = pv
  const ours = kind !== 'other'
  const claim = ours ? (spec?.claimRef ?? undefined) : undefined
  return {
    key: metadata?.name ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
    uid: metadata?.uid ?? '',
    kind,
    capacity: sizeText(spec?.capacity?.['storage'], intern),
    preResize: metadata?.annotations?.[PRE_RESIZE_ANNOTATION],
    claimNamespace: intern.text(claim?.namespace),
    claimName: claim?.name,
    claimUid: claim?.uid,
    source: sourceOf(pv, kind, intern),
    className: kind === 'own' ? intern.text(spec?.volumeAttributesClassName) : undefined,
    modifySecret: kind === 'own' ? modifySecretOf(pv) : undefined,
  }
}

function sourceOf(pv: PersistentVolume, kind: VolumeKind, intern: Interner): PersistentVolume | undefined {
  switch (kind) {
    case 'own':
      return { spec: callSpec(pv.spec, intern) }
    case 'inTree': {
      const { name, labels, annotations } = pv.metadata ?? {}
      const { namespace } = pv.spec?.claimRef ?? {}
      return { metadata: { name, labels, annotations }, spec: { ...pv.spec, claimRef: { namespace } } }
    }
    case 'other':
      return undefined
  }
}

/** Returns the fields of a spec that expansions and modifications need. */
function callSpec(spec: PersistentVolumeSpec | undefined, intern: Interner): PersistentVolumeSpec | undefined {
  if (spec?.csi == null) return undefined
  const { driver, volumeHandle, fsType, controllerExpandSecretRef } = spec.csi
  return {
    accessModes: intern.list(spec.accessModes),
    volumeMode: intern.text(spec.volumeMode),
    mountOptions: intern.list(spec.mountOptions),
    csi: { driver: intern.text(driver), volumeHandle, fsType: intern.text(fsType), controllerExpandSecretRef },
  }
}

function modifySecretOf({ metadata }: PersistentVolume): SecretRef | undefined {
  const name = metadata?.annotations?.[MODIFY_SECRET_NAME_ANNOTATION]
  const namespace = metadata?.annotations?.[MODIFY_SECRET_NAMESPACE_ANNOTATION]
  return name && namespace ? { name, namespace } : undefined
}

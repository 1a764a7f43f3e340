import { isPVMigratable, TranslationError, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import type { Cached } from '@csi-sidecars/informer'
import type { CSIPersistentVolumeSource, NodeSelector, PersistentVolume } from '@csi-sidecars/kube-types'
import { type VolumeMode, volumeModeOf } from './claim.ts'
import { type Annotations, identityOf, keptAnnotations } from './metadata.ts'

export type VolumePhase = 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed'

/** The claim of a volume. Without a UID, the volume is reserved but not bound. */
export interface ClaimRef {
  readonly namespace: string
  readonly name: string
  readonly uid: string | undefined
}

/** An in-tree volume as the CSI driver that replaces its plugin sees it. */
export interface MigratedSource {
  readonly csi: CSIPersistentVolumeSource
  readonly accessModes: readonly string[]
}

/** The cached fields of a PersistentVolume. */
export interface Volume extends Cached {
  readonly deleting: boolean
  readonly finalizers: readonly string[] | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Annotations
  readonly claimRef: ClaimRef | undefined
  readonly capacity: string
  readonly accessModes: readonly string[]
  readonly volumeMode: VolumeMode
  readonly className: string
  readonly attributesClass: string
  readonly reclaimPolicy: string
  readonly required: NodeSelector | undefined
  readonly mountOptions: readonly string[]
  /** The CSI source. Undefined if the volume has another kind of source. */
  readonly csi: CSIPersistentVolumeSource | undefined
  /** The translated source of a volume whose in-tree plugin is migrated to a CSI driver. */
  readonly migrated: MigratedSource | undefined
  readonly phase: VolumePhase
}

export function volumeProjection(pv: PersistentVolume): Volume {
  const { metadata, spec, status } = pv
  const ref = spec?.claimRef
  return {
    ...identityOf(pv),
    deleting: metadata?.deletionTimestamp != null,
    finalizers: metadata?.finalizers ?? undefined,
    labels: metadata?.labels ?? {},
    annotations: keptAnnotations(metadata?.annotations),
    claimRef:
      ref == null ? undefined : { namespace: ref.namespace ?? '', name: ref.name ?? '', uid: ref.uid || undefined },
    capacity: spec?.capacity?.['storage'] ?? '0',
    accessModes: spec?.accessModes ?? [],
    volumeMode: volumeModeOf(spec?.volumeMode),
    className: spec?.storageClassName ?? '',
    attributesClass: spec?.volumeAttributesClassName ?? '',
    reclaimPolicy: spec?.persistentVolumeReclaimPolicy ?? 'Retain',
    required: spec?.nodeAffinity?.required ?? undefined,
    mountOptions: spec?.mountOptions ?? [],
    csi: spec?.csi ?? undefined,
    migrated: migratedSource(pv),
    phase: phaseOf(status?.phase),
  }
}

/** Returns undefined for a source that cannot be translated, because no driver can attach or mount it. */
function migratedSource(pv: PersistentVolume): MigratedSource | undefined {
  if (pv.spec?.csi != null || !isPVMigratable(pv)) return undefined
  try {
    const { csi, accessModes } = translateInTreePVToCSI(pv).spec ?? {}
    return csi == null ? undefined : { csi, accessModes: accessModes ?? [] }
  } catch (error) {
    if (error instanceof TranslationError) return undefined
    throw error
  }
}

/** Returns the source that a CSI driver attaches and mounts. Undefined for a volume without a driver. */
export function csiSourceOf({
  csi,
  migrated,
}: Pick<Volume, 'csi' | 'migrated'>): CSIPersistentVolumeSource | undefined {
  return csi ?? migrated?.csi
}

/** Returns the access modes that decide on how many nodes a driver attaches the volume. */
export function attachModesOf({ accessModes, migrated }: Pick<Volume, 'accessModes' | 'migrated'>): readonly string[] {
  return migrated?.accessModes ?? accessModes
}

const PHASES: readonly string[] = ['Available', 'Bound', 'Released', 'Failed'] satisfies VolumePhase[]

function phaseOf(text: string | undefined): VolumePhase {
  return PHASES.includes(text ?? '') ? (text as VolumePhase) : 'Pending'
}

/** Returns the key of the claim in the caches. */
export function claimKeyOf({ namespace, name }: ClaimRef): string {
  return `${namespace}/${name}`
}

/** Reports whether the volume is bound to the claim, or reserved for it. */
export function isForClaim(
  { claimRef }: Pick<Volume, 'claimRef'>,
  claim: { readonly key: string; readonly uid: string },
): boolean {
  if (claimRef === undefined || claimKeyOf(claimRef) !== claim.key) return false
  return claimRef.uid === undefined || claimRef.uid === claim.uid
}

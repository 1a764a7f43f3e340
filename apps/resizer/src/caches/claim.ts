import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolumeClaim, PersistentVolumeClaimCondition } from '@csi-sidecars/kube-types'
import { CONDITION, NO_NODE_EXPANSION_ANNOTATION, RESIZER_ANNOTATION } from './names.ts'

/**
 * The cached fields of a PersistentVolumeClaim. If the claim has no volume, only its identity is cached.
 * All objects are flat, with the same fields in the same order, because tens of thousands are cached. Sizes stay texts,
 * because they are rarely compared and often patched.
 */
export interface ResizerClaim extends Cached {
  /** The name of the PersistentVolume. Empty while the claim is not bound. */
  readonly volumeName: string
  readonly phase: string | undefined
  /** The requested size: `spec.resources.requests.storage`. */
  readonly request: string | undefined
  /** The size of the volume: `status.capacity.storage`. */
  readonly capacity: string | undefined
  /** The size that an expansion was started for: `status.allocatedResources.storage`. */
  readonly allocated: string | undefined
  /** The progress of the expansion: `status.allocatedResourceStatuses.storage`. */
  readonly sizeStatus: string | undefined
  /** The entries of other controllers in `status.allocatedResourceStatuses`. Undefined if there are none. */
  readonly otherStatuses: Readonly<Record<string, string>> | undefined
  /** The resizer's conditions with all fields, and only the types of other conditions. */
  readonly conditions: readonly PersistentVolumeClaimCondition[] | undefined
  /** The annotations `volume.kubernetes.io/storage-resizer` and `volume.kubernetes.io/node-expansion-not-required`. */
  readonly resizer: string | undefined
  readonly noNodeExpansion: string | undefined
  /** The requested VolumeAttributesClass, and the volume's class. Empty if there is none. */
  readonly wantedClass: string
  readonly currentClass: string
  readonly modifyVolumeStatus: Modification | undefined
}

/** The progress of a modification: `status.modifyVolumeStatus`. */
export interface Modification {
  readonly status: string
  /** The VolumeAttributesClass that is being applied. Empty before a modification has begun. */
  readonly target: string
}

const NO_VOLUME = {
  volumeName: '',
  phase: undefined,
  request: undefined,
  capacity: undefined,
  allocated: undefined,
  sizeStatus: undefined,
  otherStatuses: undefined,
  conditions: undefined,
  resizer: undefined,
  noNodeExpansion: undefined,
  wantedClass: '',
  currentClass: '',
  modifyVolumeStatus: undefined,
} satisfies Omit<ResizerClaim, keyof Cached>

const OUR_CONDITIONS: ReadonlySet<string> = new Set(Object.values(CONDITION))

export function projectClaim(pvc: PersistentVolumeClaim, intern = new Interner()): ResizerClaim {
  const { metadata, spec, status } = pvc
  const { namespace = '', name = '', resourceVersion = '', uid = '' } = metadata ?? {}
  const cached: Cached = { key: `${namespace}/${name}`, resourceVersion, uid }
  if (!spec?.volumeName) return { ...cached, ...NO_VOLUME }
  const { storage: sizeStatus, ...otherStatuses } = status?.allocatedResourceStatuses ?? {}
  return {
    ...cached,
    volumeName: spec.volumeName,
    phase: intern.text(status?.phase),
    request: sizeText(spec.resources?.requests?.['storage'], intern),
    capacity: sizeText(status?.capacity?.['storage'], intern),
    allocated: sizeText(status?.allocatedResources?.['storage'], intern),
    sizeStatus: intern.text(sizeStatus),
    otherStatuses: Object.keys(otherStatuses).length > 0 ? otherStatuses : undefined,
    conditions: status?.conditions?.length ? status.conditions.map((each) => conditionKept(each, intern)) : undefined,
    resizer: intern.text(metadata?.annotations?.[RESIZER_ANNOTATION]),
    noNodeExpansion: intern.text(metadata?.annotations?.[NO_NODE_EXPANSION_ANNOTATION]),
    wantedClass: intern.text(spec.volumeAttributesClassName ?? ''),
    currentClass: intern.text(status?.currentVolumeAttributesClassName ?? ''),
    modifyVolumeStatus: modifyingOf(status?.modifyVolumeStatus),
  }
}

/** Returns the text of a quantity. Values of other types become text too, so that the error message can quote them. */
export function sizeText(value: unknown, intern: Interner): string | undefined {
  return value == null ? undefined : intern.text(String(value))
}

function conditionKept(condition: PersistentVolumeClaimCondition, intern: Interner): PersistentVolumeClaimCondition {
  return OUR_CONDITIONS.has(condition.type) ? condition : { type: intern.text(condition.type), status: '' }
}

type ModifyVolumeStatus = NonNullable<PersistentVolumeClaim['status']>['modifyVolumeStatus']

function modifyingOf(status: ModifyVolumeStatus | null): Modification | undefined {
  if (status == null) return undefined
  return { status: status.status, target: status.targetVolumeAttributesClassName ?? '' }
}

import type { EventTarget } from '@csi-sidecars/events'
import { type Cached, Interner } from '@csi-sidecars/informer'
import type { PersistentVolumeClaim, PersistentVolumeClaimCondition } from '@csi-sidecars/kube-types'
import { CONDITION, NO_NODE_EXPANSION_ANNOTATION, RESIZER_ANNOTATION } from './names.ts'

/**
 * The cached fields of a claim. If the claim has no volume, only its identity is cached.
 * All objects are flat, with the same fields in the same order, because tens of thousands are cached. Sizes stay texts,
 * because they are rarely compared and often patched.
 */
export interface ResizerClaim extends Cached {
  /** Empty while the claim is not bound to a volume. */
  readonly volumeName: string
  readonly phase: string | undefined
  /** `spec.resources.requests.storage`. */
  readonly request: string | undefined
  /** `status.capacity.storage`. */
  readonly capacity: string | undefined
  /** `status.allocatedResources.storage`. */
  readonly allocated: string | undefined
  /** `status.allocatedResourceStatuses.storage`. */
  readonly sizeStatus: string | undefined
  /** The entries of other controllers in the same map. Undefined if there are none. */
  readonly otherStatuses: Readonly<Record<string, string>> | undefined
  /** Ours as they are. Of any other only the type, for its place among them: tens of thousands flip without a meaning here. */
  readonly conditions: readonly PersistentVolumeClaimCondition[] | undefined
  /** The annotations that name the resizer and say that kubelet has nothing to expand. */
  readonly resizer: string | undefined
  readonly noNodeExpansion: string | undefined
  /** Classes: the one asked for and the one that the volume has. Empty for none. */
  readonly wantedClass: string
  readonly currentClass: string
  readonly modifying: Modifying | undefined
}

/** `status.modifyVolumeStatus`. */
export interface Modifying {
  readonly status: string
  /** Empty while nothing was begun. */
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
  modifying: undefined,
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
    modifying: modifyingOf(status?.modifyVolumeStatus),
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

function modifyingOf(status: ModifyVolumeStatus | null): Modifying | undefined {
  if (status == null) return undefined
  return { status: status.status, target: status.targetVolumeAttributesClassName ?? '' }
}

export function claimRef({ key }: Pick<ResizerClaim, 'key'>): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** The claim as the subject of an event. */
export function eventTarget(claim: ResizerClaim): EventTarget {
  const { uid, resourceVersion } = claim
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimRef(claim), uid, resourceVersion }
}

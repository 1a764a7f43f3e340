import { type Patch, Quantity, rfc3339 } from '@csi-sidecars/kube-types'
import { type Claim, type ClaimPhase, UNUSED } from '../caches/claim.ts'
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, PRE_RESIZE_CAPACITY } from '../caches/metadata.ts'
import { isForClaim, type Volume, type VolumePhase } from '../caches/volume.ts'

/** Returns a merge patch that the API server refuses if the object has changed since it was read. */
export function versionedPatch(
  of: { readonly resourceVersion: string },
  body: { metadata?: object; spec?: object },
): Patch {
  const { metadata, ...rest } = body
  return { kind: 'merge', body: { metadata: { resourceVersion: of.resourceVersion, ...metadata }, ...rest } }
}

/** Returns the patch that binds a volume to a claim; undefined if the volume already refers to the claim. */
export function bindVolumePatch(volume: Volume, claim: Claim): Patch | undefined {
  const reserved = isForClaim(volume, claim)
  if (reserved && volume.claimRef?.uid === claim.uid) return undefined
  const claimRef = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace: claim.namespace,
    name: claim.name,
    uid: claim.uid,
    resourceVersion: claim.resourceVersion,
  }
  // A volume that the user reserved is not marked as bound by the controller.
  const metadata = reserved ? {} : { annotations: { [BOUND_BY_CONTROLLER]: 'yes' } }
  return versionedPatch(volume, { metadata, spec: { claimRef } })
}

export function volumePhasePatch(volume: Volume, phase: VolumePhase, message?: string): Patch | undefined {
  if (volume.phase === phase) return undefined
  return { kind: 'merge', body: { status: { phase, message: message ?? null } } }
}

/** Returns the patch that binds a claim to a volume; undefined if the claim already refers to the volume. */
export function bindClaimPatch(claim: Claim, volume: Volume): Patch | undefined {
  const named = claim.volumeName === volume.key
  const annotations = {
    ...(named ? {} : { [BOUND_BY_CONTROLLER]: 'yes' }),
    ...(BIND_COMPLETED in claim.annotations ? {} : { [BIND_COMPLETED]: 'yes' }),
  }
  if (Object.keys(annotations).length === 0) return undefined
  return versionedPatch(claim, { metadata: { annotations }, ...(named ? {} : { spec: { volumeName: volume.key } }) })
}

/** Returns the patch of a claim's status. A claim that is already bound keeps its capacity. */
export function claimStatusPatch(claim: Claim, phase: ClaimPhase, volume: Volume | undefined): Patch | undefined {
  const status: Record<string, unknown> = {}
  if (claim.phase !== phase) status['phase'] = phase
  if (volume === undefined) {
    if (claim.statusModes !== undefined) status['accessModes'] = null
    if (claim.capacity !== undefined) status['capacity'] = null
    if (claim.currentAttributesClass !== undefined) status['currentVolumeAttributesClassName'] = null
  } else {
    if (claim.statusModes?.join() !== volume.accessModes.join()) status['accessModes'] = volume.accessModes
    if (claim.phase !== phase) Object.assign(status, whenBecomingBound(claim, volume))
  }
  return Object.keys(status).length === 0 ? undefined : { kind: 'merge', body: { status } }
}

function whenBecomingBound(claim: Claim, volume: Volume): Record<string, unknown> {
  const size = volume.annotations[PRE_RESIZE_CAPACITY] ?? volume.capacity
  const same = claim.capacity !== undefined && Quantity.parse(claim.capacity).equals(Quantity.parse(size))
  const setsClass = claim.phase === 'Pending' && (claim.currentAttributesClass ?? '') !== volume.attributesClass
  return {
    ...(same ? {} : { capacity: { storage: size } }),
    ...(setsClass ? { currentVolumeAttributesClassName: volume.attributesClass || null } : {}),
  }
}

/** Returns the patch that unbinds a volume. If the user reserved the volume, the patch removes only the UID. */
export function unbindVolumePatch(volume: Volume): Patch {
  if (!(BOUND_BY_CONTROLLER in volume.annotations)) return versionedPatch(volume, { spec: { claimRef: { uid: null } } })
  return versionedPatch(volume, {
    metadata: { annotations: { [BOUND_BY_CONTROLLER]: null } },
    spec: { claimRef: null },
  })
}

export function annotateClaimPatch(claim: Claim, annotations: Readonly<Record<string, string | null>>): Patch {
  return versionedPatch(claim, { metadata: { annotations } })
}

export function unusedPatch({ uid }: Claim, unused: boolean, nowMs: number): Patch {
  const state = unused
    ? { status: 'True', reason: 'NoPodsUsingPVC', message: 'No pods are currently referencing this PVC' }
    : { status: 'False', reason: 'PodUsingPVC', message: 'A pod is currently referencing this PVC' }
  const condition = { type: UNUSED, ...state, lastProbeTime: null, lastTransitionTime: rfc3339(nowMs) }
  return { kind: 'strategic', body: { metadata: { uid }, status: { conditions: [condition] } } }
}

export function assignClassPatch(claim: Claim, className: string): Patch {
  return versionedPatch(claim, { spec: { storageClassName: className } })
}

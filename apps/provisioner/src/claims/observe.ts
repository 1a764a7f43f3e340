import type { Reader } from '@csi-sidecars/informer'
import { classNameOf, type ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { CLAIMS_BY_UID } from '../caches/open.ts'
import type { ProvisionerVolume } from '../caches/volume.ts'
import type { ProvisionerSettings } from '../parts.ts'
import { ProvisionError } from '../request/failure.ts'
import { volumeNameOf } from '../request/request.ts'
import { allowsNode, type TopologyNodes, topologyRules } from '../topology/requirement.ts'
import type { ClaimView } from './decide.ts'
import type { ClaimMemory } from './memory.ts'

/** The caches, the memory and the settings from which the view of a claim is made. */
export interface ObserveDeps {
  readonly claims: { readonly store: Pick<Reader<ProvisionerClaim>, 'byIndex'> }
  readonly volumes: { readonly store: Pick<Reader<ProvisionerVolume>, 'get'> }
  readonly classes: { readonly store: Pick<Reader<Class>, 'get'> }
  /** The nodes of the cluster. Undefined if the driver does not support topology. */
  readonly topology: TopologyNodes | undefined
  readonly memory: ClaimMemory
  readonly settings: ProvisionerSettings
}

/** Returns the state of a claim. Undefined if it is bound or deleted and no CreateVolume call may be running. */
export function observeClaim(uid: string, deps: ObserveDeps): ClaimView | undefined {
  const { volumes, memory, settings } = deps
  const uncertainCall = memory.uncertainCalls.get(uid)
  const cached = cachedClaim(uid, deps)
  const claim = cached ?? uncertainCall?.prepared.claim
  if (claim === undefined) return undefined
  const current = deps.classes.store.get(classNameOf(claim))
  const storageClass = uncertainCall === undefined ? current : uncertainCall.prepared.class
  const volumeName = validVolumeName(uid, settings)
  return {
    claim,
    class: storageClass,
    volumeName,
    existingVolume: volumeName === undefined ? undefined : volumes.store.get(volumeName),
    isCallUncertain: uncertainCall !== undefined,
    isCreationFinished: memory.isCreationFinished(uid),
    hasUnsavedVolume: volumeName !== undefined && memory.unsavedVolumes.has(volumeName),
    pausedForMs: memory.pausedForMs(uid, current?.uid ?? ''),
    allowsNode: allowsOwnNode(claim, storageClass, deps),
    settings,
  }
}

function allowsOwnNode(
  claim: ProvisionerClaim,
  storageClass: Class | undefined,
  { topology, settings }: ObserveDeps,
): boolean {
  const { node } = settings
  if (node === undefined || storageClass === undefined) return true
  return allowsNode(topologyRules(claim, storageClass, settings), node.name, topology)
}

/** Returns the cached claim. Undefined for a deleted claim, and for a bound claim without our finalizer. */
export function cachedClaim(uid: string, { claims }: Pick<ObserveDeps, 'claims'>): ProvisionerClaim | undefined {
  return claims.store.byIndex(CLAIMS_BY_UID, uid)[0]
}

/** Returns the name of the claim's volume. Undefined if the name is invalid: `prepare` reports the reason later. */
function validVolumeName(uid: string, settings: ProvisionerSettings): string | undefined {
  try {
    return volumeNameOf(uid, settings)
  } catch (error) {
    if (error instanceof ProvisionError) return undefined
    throw error
  }
}

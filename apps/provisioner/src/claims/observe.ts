import type { Reader } from '@csi-sidecars/informer'
import { type Claim, classNameOf } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { CLAIMS_BY_UID } from '../caches/open.ts'
import type { Volume } from '../caches/volume.ts'
import type { ProvisionerSettings } from '../parts.ts'
import { ProvisionError } from '../request/failure.ts'
import { volumeNameOf } from '../request/request.ts'
import { allowsNode, type TopologyNodes, topologyRules } from '../topology/requirement.ts'
import type { ClaimView } from './decide.ts'
import type { ClaimMemory } from './memory.ts'

export interface ObserveDeps {
  readonly claims: { readonly store: Pick<Reader<Claim>, 'byIndex'> }
  readonly volumes: { readonly store: Pick<Reader<Volume>, 'get'> }
  readonly classes: { readonly store: Pick<Reader<Class>, 'get'> }
  /** Undefined without topology. */
  readonly topology: TopologyNodes | undefined
  readonly memory: ClaimMemory
  readonly settings: ProvisionerSettings
}

/** Undefined if the claim is bound or deleted and no creation has to be followed up. */
export function observeClaim(uid: string, deps: ObserveDeps): ClaimView | undefined {
  const { volumes, memory, settings } = deps
  const followed = memory.inProgress.get(uid)
  const cached = cachedClaim(uid, deps)
  const claim = cached ?? followed?.claim
  if (claim === undefined) return undefined
  const current = deps.classes.store.get(classNameOf(claim))
  const storageClass = cached === undefined ? followed?.class : current
  const volumeName = nameOf(uid, settings)
  return {
    claim,
    class: storageClass,
    volumeName,
    existing: volumeName === undefined ? undefined : volumes.store.get(volumeName),
    inProgress: followed !== undefined,
    unsaved: volumeName !== undefined && memory.unsaved.has(volumeName),
    pausedForMs: memory.pausedForMs(uid, current?.uid ?? ''),
    allowsNode: allowsOwnNode(claim, storageClass, deps),
    settings,
  }
}

function allowsOwnNode(claim: Claim, storageClass: Class | undefined, { topology, settings }: ObserveDeps): boolean {
  const { node } = settings
  if (node === undefined || storageClass === undefined) return true
  return allowsNode(topologyRules(claim, storageClass, settings), node.name, topology)
}

/** The claim, if it exists and is not bound. */
export function cachedClaim(uid: string, { claims }: Pick<ObserveDeps, 'claims'>): Claim | undefined {
  return claims.store.byIndex(CLAIMS_BY_UID, uid)[0]
}

/** A wrong prefix is reported when the request is made. */
function nameOf(uid: string, settings: ProvisionerSettings): string | undefined {
  try {
    return volumeNameOf(uid, settings)
  } catch (error) {
    if (error instanceof ProvisionError) return undefined
    throw error
  }
}

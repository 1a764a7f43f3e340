import type { WorkSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import { Quantity } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'
import { SIZE_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { objectOf } from '../claim/pending.ts'
import type { InUseRefusals } from './in-use.ts'
import { isNodeStepPending } from './patches.ts'
import { isOurs } from './source.ts'

/** The caches that the report of pending expansions reads. It sends no request. */
export interface ExpansionSources {
  readonly volumes: Pick<Reader<ResizerVolume>, 'get'>
  readonly driverName: string
  readonly inUse: Pick<InUseRefusals, 'wasRefused'> | undefined
  readonly nodeDeployment: boolean
}

/** Describes the resizer's pending part of an expansion. Returns undefined if no expansion is due. */
export function expansionOf(claim: ResizerClaim, sources: ExpansionSources): WorkSubject | undefined {
  const { volumes, driverName, inUse, nodeDeployment } = sources
  if (claim.volumeName === '' || claim.phase !== 'Bound' || claim.request === claim.capacity) return undefined
  if (isAtMost(claim.request, claim.capacity)) return undefined
  const volume = volumes.get(claim.volumeName)
  if (volume === undefined ? nodeDeployment : !isOurs(claim, volume, driverName)) return undefined
  if (isOnlyNodeStepLeft(claim) && isAtMost(claim.request, claim.allocated ?? claim.request)) return undefined
  const work = { operation: 'expand', object: objectOf(claim), volume: claim.volumeName } as const
  if (volume === undefined) return { ...work, obstacle: 'PersistentVolumeMissing' }
  if (claim.sizeStatus === SIZE_STATUS.controllerInfeasible) return { ...work, obstacle: 'Infeasible' }
  return inUse?.wasRefused(claim) === true ? { ...work, obstacle: 'VolumeInUse' } : work
}

/** The statuses of an expansion whose driver is done, so that only the kubelet must finish it. */
const NODE_STATUSES = [SIZE_STATUS.nodePending, SIZE_STATUS.nodeInProgress, SIZE_STATUS.nodeInfeasible] as const

/** Returns the status of the kubelet's part of the expansion. Undefined if the claim has no such status. */
export function nodeStatusOf({ sizeStatus }: ResizerClaim): (typeof NODE_STATUSES)[number] | undefined {
  return NODE_STATUSES.find((status) => status === sizeStatus)
}

/** Reports whether only the kubelet's part of the expansion is pending. */
export function isOnlyNodeStepLeft(claim: ResizerClaim): boolean {
  return nodeStatusOf(claim) !== undefined || isNodeStepPending(claim)
}

/** Reports whether `size` is at most `other`. False if a size is invalid, so that a run reports the error. */
function isAtMost(size: string | undefined, other: string | undefined): boolean {
  const [a, b] = [Quantity.tryParse(size ?? '0'), Quantity.tryParse(other ?? '0')]
  return a !== undefined && b !== undefined && a.compare(b) <= 0
}

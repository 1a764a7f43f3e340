import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isConflict, isForbidden } from '@csi-sidecars/kube-client'
import { CSI_NODES, NODES, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import { goQuote } from '@csi-sidecars/telemetry'
import { claimProjection, type ProvisionerClaim, selectedNode } from '../caches/claim.ts'
import { readIfExists } from '../read-if-exists.ts'
import { mayLoseNode } from './decide.ts'
import { CLAIM_EVENTS, recordEventOnce } from './events.ts'
import { withoutSelectedNode } from './patches.ts'
import type { ClaimRun } from './run.ts'

interface NodeCheck {
  readonly claim: ProvisionerClaim
  /** The selected node of the claim: the node of another process. */
  readonly node: string
  readonly volumeName: string | undefined
  /** The shortest wait before the check. */
  readonly afterMs: number
}

/**
 * Gives a claim back to the scheduler if its selected node has no driver, and so no provisioner that acts on the claim.
 * Each process on other nodes may do this. The API server accepts only the first write, because it has the version of the
 * claim.
 */
export async function rescheduleWithoutDriver(run: ClaimRun, check: NodeCheck): Promise<Outcome> {
  const { deps, log } = run
  const { nodeChecks } = deps.memory
  const { claim, node, afterMs } = check
  const waitMs = nodeChecks.msUntilCheck(claim.uid, node, afterMs)
  if (waitMs > 0) return { kind: 'postponed', ms: waitMs }
  const why = await reasonToLeave(run, check)
  if (why === undefined || !(await removeNode(run, check))) {
    return { kind: 'postponed', ms: nodeChecks.postpone(claim.uid, node, afterMs) }
  }
  nodeChecks.forget(claim.uid)
  log.v(2)?.info('Volume rescheduled because', { err: why })
  recordEventOnce(run, claim, CLAIM_EVENTS.rescheduled(why))
  return SETTLED
}

/** Returns the reason why the node cannot create the volume. Undefined if it may create the volume, or may have done so. */
async function reasonToLeave(run: ClaimRun, { node: name, volumeName }: NodeCheck): Promise<string | undefined> {
  const { driver } = run.deps.settings.names
  try {
    const csiNode = await readIfExists(run, CSI_NODES, name)
    if (csiNode?.spec.drivers?.some((each) => each.name === driver)) return undefined
    // The kubelet creates the CSINode after the Node, so a missing CSINode alone says nothing.
    const node = await readIfExists(run, NODES, name)
    if (csiNode === undefined && node !== undefined) return undefined
    // An invalid name has no volume. Otherwise the volume may exist, although the claim is not bound yet.
    if (volumeName !== undefined && (await readIfExists(run, PERSISTENT_VOLUMES, volumeName)) !== undefined)
      return undefined
    return node === undefined
      ? `The selected node ${goQuote(name)} is gone`
      : `The selected node ${goQuote(name)} has no driver ${goQuote(driver)}`
  } catch (error) {
    run.signal.throwIfAborted()
    // The client reports the missing permission. The claim then waits for its node, as without this check.
    if (isForbidden(error)) return undefined
    throw error
  }
}

/** Removes the node from the claim. Returns false if the stored claim has changed so that it must keep the node. */
async function removeNode({ deps, signal, stored }: ClaimRun, { node }: NodeCheck): Promise<boolean> {
  const { settings } = deps
  const project = claimProjection(settings.claimFinalizer)
  let isRemoved = false
  try {
    const isStored = await stored.edit((pvc) => {
      const claim = project(pvc)
      isRemoved = selectedNode(claim) === node && mayLoseNode(claim, settings)
      return isRemoved ? withoutSelectedNode(pvc) : pvc
    })
    return isStored && isRemoved
  } catch (error) {
    signal.throwIfAborted()
    if (isConflict(error)) return false
    throw error
  }
}

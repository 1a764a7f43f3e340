import { messageOf } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isConflict } from '@csi-sidecars/kube-client'
import { goQuote } from '@csi-sidecars/telemetry'
import { type ProvisionerClaim, withNode } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import type { LocalNode } from '../node/local-node.ts'
import { ProvisionError } from '../request/failure.ts'
import { bytesOf } from '../request/request.ts'
import { withSelectedNode } from './patches.ts'
import { prepare } from './prepare.ts'
import type { ClaimRun } from './run.ts'

interface NodeSelection {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly node: LocalNode
}

/** Makes this node the selected node of the claim, after a random delay and if the node has enough capacity. */
export async function selectThisNode(run: ClaimRun, candidate: NodeSelection): Promise<Outcome> {
  const { deps, signal, log, stored } = run
  const { claim, node } = candidate
  const { selectionDelays } = deps.memory
  const waitMs = selectionDelays.waitMs(claim.uid, node)
  if (waitMs > 0) return { kind: 'postponed', ms: waitMs }
  if (!(await hasCapacity(run, candidate))) {
    selectionDelays.lengthenNext(claim.uid)
    log.v(5)?.info('Not enough capacity on this node', { node: node.name })
    return SETTLED
  }
  try {
    await stored.edit(withSelectedNode(node.name), { tries: 1 })
  } catch (error) {
    signal.throwIfAborted()
    if (!isConflict(error)) {
      const failedStep = `node check failed: PVC ${claim.key}: selecting node ${goQuote(node.name)} for PVC failed`
      throw new ProvisionError(`${failedStep}: ${messageOf(error)}`, { cause: error })
    }
    selectionDelays.lengthenNext(claim.uid)
    return { kind: 'postponed', ms: selectionDelays.waitMs(claim.uid, node) }
  }
  selectionDelays.forget(claim.uid)
  return AGAIN
}

/** Reports whether this node has enough capacity. Returns true after an error, which CreateVolume will report. */
async function hasCapacity(run: ClaimRun, { claim, class: storageClass, node }: NodeSelection): Promise<boolean> {
  const { deps, signal, log } = run
  const required = bytesOf(claim.size)
  if (required === 0n) return true
  try {
    const { request, capabilities } = await prepare(run, withNode(claim, node.name), storageClass)
    const topologies = request.accessibilityRequirements?.requisite ?? []
    for (const accessibleTopology of topologies.length === 0 ? [undefined] : topologies) {
      const question = { volumeCapabilities: [...capabilities], parameters: request.parameters, accessibleTopology }
      const { availableCapacity } = await deps.driver.capacity(question, signal)
      if (required <= availableCapacity) return true
    }
    return false
  } catch (error) {
    signal.throwIfAborted()
    const obstacle = error instanceof ProvisionError ? 'the request cannot be made' : 'the capacity is unknown'
    log.v(3)?.info(`Taking the claim though ${obstacle}`, { err: messageOf(error) })
    return true
  }
}

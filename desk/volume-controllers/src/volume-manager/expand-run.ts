import { messageOf } from '@csi-sidecars/base'
import { classify, RpcError } from '@csi-sidecars/csi'
import { NodeExpandVolume, NodeServiceCapability_RPC_Type as NodeRpc } from '@csi-sidecars/csi-proto'
import { type Patch, PERSISTENT_VOLUME_CLAIMS, type PersistentVolumeClaim, PODS, refOf } from '@csi-sidecars/kube-types'
import { claimProjection } from '../caches/claim.ts'
import { CALL_MS, nodeCan } from '../driver/driver.ts'
import type { NodeParts } from './calls.ts'
import { callParts, secretOf } from './calls.ts'
import type { CsiSource, PodMount } from './desired-state.ts'
import { decideExpansion, failedPatch, finishedPatch, inProgressPatch, wantsOtherSize } from './expand.ts'
import { expandRequest } from './requests.ts'

/** Expands a mounted volume on its node to the allocated size of its claim. */
export async function expand(
  { source, pod }: { readonly source: CsiSource; readonly pod: PodMount },
  deps: NodeParts,
  signal: AbortSignal,
): Promise<void> {
  const { client, actual, desired } = deps
  const { volumeName, claim: claimKey } = source
  const capacity = desired.get(volumeName)?.capacity
  if (capacity === undefined) return
  const claim = await client.get(PERSISTENT_VOLUME_CLAIMS, refOf(claimKey), { signal })
  const plan = decideExpansion(claimProjection(claim), capacity)
  if (plan.kind === 'wait') return
  if (plan.kind === 'done' || (!plan.byNode && !nodeCan(deps.driver, NodeRpc.EXPAND_VOLUME))) {
    actual.markSize(volumeName, plan.size)
    return
  }
  const run = { source, claimKey, pod, size: plan.size, deps, signal }
  const begun = plan.byNode ? await markInProgress(claim, run) : claim
  if (!(await callDriver(begun, run))) return
  recordSuccess(begun, run)
  if (plan.byNode) await patchClaim(finishedPatch(begun, plan.size), run)
  actual.markSize(volumeName, plan.size)
}

interface Run {
  readonly source: CsiSource
  readonly claimKey: string
  readonly pod: PodMount
  readonly size: string
  readonly deps: NodeParts
  readonly signal: AbortSignal
}

async function markInProgress(claim: PersistentVolumeClaim, run: Run): Promise<PersistentVolumeClaim> {
  const word = claimProjection(claim).resizeStatus
  if (word === undefined || word === 'NodeResizeInProgress') return claim
  return await patchClaim(inProgressPatch(claim), run)
}

async function patchClaim(patch: Patch, { claimKey, deps, signal }: Run): Promise<PersistentVolumeClaim> {
  const options = { signal, subresource: 'status' }
  const patched = await deps.client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(claimKey), patch, options)
  deps.caches.claims.storeAnswer(patched)
  return patched
}

/** Returns false if the driver refuses to expand a volume in use. The mount does not fail in this case. */
async function callDriver(claim: PersistentVolumeClaim, run: Run): Promise<boolean> {
  const { source, pod, size, deps, signal } = run
  try {
    if (!nodeCan(deps.driver, NodeRpc.EXPAND_VOLUME)) {
      throw new ExpansionRefused(`NodeExpand is not supported by the CSI driver ${deps.driver.name}`)
    }
    const request = expandRequest(source, size, callParts(source, pod, deps))
    const secrets = await secretOf(source.csi.nodeExpandSecretRef, deps, signal)
    await deps.driver.call(NodeExpandVolume, { ...request, secrets }, { timeoutMs: CALL_MS, signal })
    return true
  } catch (error) {
    signal.throwIfAborted()
    const verdict = verdictOf(error)
    if (verdict.final) await markFailed(claim, error, run)
    if (verdict.inUse) return false
    throw error
  }
}

class ExpansionRefused extends Error {
  override readonly name = 'ExpansionRefused'
}

function verdictOf(error: unknown): { readonly final: boolean; readonly inUse: boolean; readonly infeasible: boolean } {
  if (error instanceof ExpansionRefused) return { final: true, inUse: false, infeasible: false }
  if (!(error instanceof RpcError)) return { final: false, inUse: false, infeasible: false }
  const { final, inUse, infeasible } = classify(error)
  return { final, inUse, infeasible: infeasible.expand }
}

/** Records the failure in the claim. Marks a size that failed twice and is no longer requested as infeasible. */
async function markFailed(claim: PersistentVolumeClaim, error: unknown, run: Run): Promise<void> {
  const { source, size, deps } = run
  const { actual, clock } = deps
  const { inUse, infeasible } = verdictOf(error)
  const failedBefore = actual.get(source.volumeName)?.expansion === 'failed'
  const givenUp = failedBefore && wantsOtherSize(claim, size)
  actual.markExpansion(source.volumeName, inUse ? 'inUse' : 'failed')
  await patchClaim(
    failedPatch(claim, { message: messageOf(error), infeasible: infeasible || givenUp, now: clock.now() }),
    run,
  )
}

function recordSuccess({ metadata }: PersistentVolumeClaim, { source, claimKey, pod, deps }: Run): void {
  const message = `MountVolume.NodeExpandVolume succeeded for volume "${source.name}" ${deps.node}`
  const { recorder } = deps
  const target = { apiVersion: 'v1', kind: PERSISTENT_VOLUME_CLAIMS.kind, ...refOf(claimKey), uid: metadata?.uid }
  const podTarget = { apiVersion: 'v1', kind: PODS.kind, ...refOf(pod.podKey), uid: pod.podUid }
  for (const each of [target, podTarget]) {
    recorder.event(each, { type: 'Normal', reason: 'FileSystemResizeSuccessful', message })
  }
}

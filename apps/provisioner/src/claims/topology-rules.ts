import { type Claim, claimRef, nodeOfRequest } from '../caches/claim.ts'
import type { Class } from '../caches/class.ts'
import type { ProvisionerSettings } from '../parts.ts'
import { ProvisionError } from '../request/failure.ts'
import { requirementOf, type TopologyNodes, type TopologyRules } from '../topology/requirement.ts'

type Settings = Pick<ProvisionerSettings, 'strictTopology' | 'immediateTopology'>

/** The topology that a claim asks for. */
export function topologyRules(
  claim: Claim,
  { allowedTopologies: allowed }: Class,
  { strictTopology: strict, immediateTopology: immediate }: Settings,
): TopologyRules {
  return { claimName: claimRef(claim).name, node: nodeOfRequest(claim), allowed, strict, immediate }
}

/** Whether the allowed topologies of the rules contain the node. */
export function allowsNode(rules: TopologyRules, node: string, cluster: TopologyNodes | undefined): boolean {
  if (rules.allowed.length === 0 || cluster === undefined) return true
  try {
    requirementOf({ ...rules, node }, cluster)
    return true
  } catch (error) {
    if (error instanceof ProvisionError) return false
    throw error
  }
}

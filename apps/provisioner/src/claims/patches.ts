import { PARAMETER_VALUES } from '@csi-sidecars/csi'
import { SELECTED_NODE } from '../caches/names.ts'
import type { ClaimEdit } from '../stored-claim.ts'

/** Removes the selected node, so that the scheduler selects a node again. */
export const withoutSelectedNode: ClaimEdit = (pvc) => {
  const { [SELECTED_NODE]: node, ...annotations } = pvc.metadata?.annotations ?? {}
  return node === undefined ? pvc : { ...pvc, metadata: { ...pvc.metadata, annotations } }
}

/** Selects the node, unless a node is already selected. */
export function withSelectedNode(node: string): ClaimEdit {
  return (pvc) => {
    const { annotations } = pvc.metadata ?? {}
    if (annotations?.[SELECTED_NODE]) return pvc
    return { ...pvc, metadata: { ...pvc.metadata, annotations: { ...annotations, [SELECTED_NODE]: node } } }
  }
}

/** Stores the values in the parameters on the claim, unless the claim has them. */
export function withParameterValues(record: string): ClaimEdit {
  return (pvc) => {
    const { annotations } = pvc.metadata ?? {}
    if (annotations?.[PARAMETER_VALUES] === record) return pvc
    return { ...pvc, metadata: { ...pvc.metadata, annotations: { ...annotations, [PARAMETER_VALUES]: record } } }
  }
}

import type { PendingTable, TraceSubject, WorkSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import { namespacedRef } from '@csi-sidecars/kube-types'
import type { ResizerClaim } from '../caches/claim.ts'

/** The name of the sidecar in reports of pending work, which is the name of the Go resizer. */
export const SIDECAR = 'external-resizer'

/** Lists the claims with pending work for reports. `subjectOf` returns undefined for any other claim. */
export function claimTable(
  claims: Pick<Reader<ResizerClaim>, 'get'>,
  subjectOf: (claim: ResizerClaim) => WorkSubject | undefined,
): PendingTable {
  return {
    sidecar: SIDECAR,
    subject(key) {
      const claim = claims.get(key)
      return claim && subjectOf(claim)
    },
  }
}

export function objectOf(claim: ResizerClaim): NonNullable<WorkSubject['object']> {
  return { kind: 'PersistentVolumeClaim', ...namespacedRef(claim.key), uid: claim.uid }
}

export function claimTraceSubject(
  claims: Pick<Reader<ResizerClaim>, 'get'>,
  operation: string,
): (key: string) => TraceSubject {
  return (key) => {
    const claim = claims.get(key)
    const { namespace, name } = namespacedRef(key)
    return {
      operation,
      names: {
        'k8s.namespace.name': namespace,
        'k8s.persistentvolumeclaim.name': name,
        ...(claim !== undefined && { 'k8s.persistentvolume.name': claim.volumeName }),
      },
      traceparent: claim?.traceparent,
    }
  }
}

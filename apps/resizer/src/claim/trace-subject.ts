import type { TraceSubject } from '@csi-sidecars/controller'
import type { Reader } from '@csi-sidecars/informer'
import { type Claim, claimRef } from '../caches/claim.ts'

export function claimTraceSubject(
  claims: Pick<Reader<Claim>, 'get'>,
  operation: string,
): (key: string) => TraceSubject {
  return (key) => {
    const claim = claims.get(key)
    const { namespace, name } = claimRef({ key })
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

import type { RpcError } from '@csi-sidecars/csi'

/** When the driver wants to be asked again. No wait at all is no advice: it would be asked without end. */
export function retryAfterOf({ retryAfterMs }: RpcError): number | undefined {
  return retryAfterMs !== undefined && retryAfterMs > 0 ? retryAfterMs : undefined
}

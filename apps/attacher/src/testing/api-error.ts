import { ApiError } from '@csi-sidecars/kube-client'

export function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError({ code, reason, message })
}

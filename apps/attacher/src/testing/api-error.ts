import { ApiError } from '@csi-sidecars/kube-client'

export function apiError(code: number, reason: string, message = reason): ApiError {
  return new ApiError({ code, reason, message })
}

/** Returns the API server's answer to a merge patch whose UID differs from the UID of the object. */
export function uidMismatch(uid: string): ApiError {
  const message = `Invalid value: "${uid}": field is immutable`
  const details = { causes: [{ reason: 'FieldValueInvalid', message, field: 'metadata.uid' }] }
  return new ApiError({ code: 422, reason: 'Invalid', message: `metadata.uid: ${message}`, details })
}

import { isTooManyRequests } from '@csi-sidecars/kube-client'
import { SecretError, type SecretRef } from '@csi-sidecars/sidecar'

/** Reports whether a Secret could not be read only because the API server asked to retry later. */
export function isSecretDelayed(error: unknown): boolean {
  return error instanceof SecretError && isTooManyRequests(error.cause)
}

/** Returns the reference to a Secret. Missing fields of the API object become empty. */
export function secretRefOf(
  ref: { readonly name?: string | undefined; readonly namespace?: string | undefined } | null | undefined,
): SecretRef | undefined {
  return ref == null ? undefined : { name: ref.name ?? '', namespace: ref.namespace ?? '' }
}

import { messageOf } from '@csi-sidecars/base'
import type { KubeClient, RequestOptions } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'

/** The name and the namespace of a Secret. */
export interface SecretRef {
  readonly name: string
  readonly namespace: string
}

/** The error if a Secret cannot be read. Users see the message in events and statuses. */
export class SecretError extends Error {
  override readonly name = 'SecretError'

  constructor({ namespace, name }: SecretRef, cause: unknown) {
    super(`error getting secret ${name} in namespace ${namespace}: ${messageOf(cause)}`, { cause })
  }
}

/**
 * Returns the encoded values of a Secret, or no values if `ref` is undefined. Secrets are never cached: each CSI call
 * reads its Secret again.
 *
 * Errors: throws SecretError with the error of the API server as its cause, or the reason of the aborted `signal`.
 */
export async function readSecret(
  api: Pick<KubeClient, 'get'>,
  ref: SecretRef | undefined,
  options: Pick<RequestOptions, 'priority'> & { readonly signal: AbortSignal },
): Promise<Readonly<Record<string, string>>> {
  if (ref === undefined) return {}
  try {
    return (await api.get(SECRETS, ref, options)).data ?? {}
  } catch (cause) {
    options.signal.throwIfAborted()
    throw new SecretError(ref, cause)
  }
}

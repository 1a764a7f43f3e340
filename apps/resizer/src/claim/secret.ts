import { messageOf } from '@csi-sidecars/base'
import { secretsFrom } from '@csi-sidecars/csi'
import { isTooManyRequests, type KubeClient } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import type { SecretRef } from '../caches/volume.ts'

/** A Secret that could not be read. The message is part of an event. */
export class SecretError extends Error {
  override readonly name = 'SecretError'

  constructor({ namespace, name }: SecretRef, cause: unknown) {
    super(`error getting secret ${name} in namespace ${namespace}: ${messageOf(cause)}`, { cause })
  }

  /** The API server only asked to retry later. */
  get busy(): boolean {
    return isTooManyRequests(this.cause)
  }
}

/** Reads the Secret for a call. It is read for each call and never cached. Returns an empty map without a reference. */
export async function loadSecret(
  api: Pick<KubeClient, 'get'>,
  ref: SecretRef | undefined,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (ref === undefined) return {}
  let data: Readonly<Record<string, string>> | undefined
  try {
    data = (await api.get(SECRETS, ref, { signal })).data
  } catch (cause) {
    signal.throwIfAborted()
    throw new SecretError(ref, cause)
  }
  return secretsFrom(data)
}

/** The wire's reference, whose parts may be missing. */
export function secretRefOf(
  ref: { readonly name?: string | undefined; readonly namespace?: string | undefined } | null | undefined,
): SecretRef | undefined {
  return ref == null ? undefined : { name: ref.name ?? '', namespace: ref.namespace ?? '' }
}

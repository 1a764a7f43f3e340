import { messageOf } from '@csi-sidecars/base'
import { secretsFrom } from '@csi-sidecars/csi'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { SECRETS } from '@csi-sidecars/kube-types'
import { ProvisionError } from './request/failure.ts'
import { type SecretRef, secretError } from './request/secrets.ts'

/** The values of a Secret, read for each call. Empty without a reference. Throws ProvisionError. */
export async function readSecret(
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
    throw secretError(ref, cause)
  }
  try {
    return secretsFrom(data)
  } catch (cause) {
    throw new ProvisionError(messageOf(cause), { cause })
  }
}

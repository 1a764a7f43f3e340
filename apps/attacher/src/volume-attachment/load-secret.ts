import type { KubeClient } from '@csi-sidecars/kube-client'
import { readSecret, SecretError, type SecretRef } from '@csi-sidecars/sidecar'
import { rethrowAs } from './failure.ts'

/** Returns the values of a Secret, encoded in base64. */
export async function loadSecret(
  api: KubeClient,
  ref: SecretRef,
  options: Parameters<typeof readSecret>[2],
): Promise<Readonly<Record<string, string>>> {
  return await readSecret(api, ref, options).catch((error: unknown) => {
    const cause = error instanceof SecretError ? error.cause : error
    return rethrowAs(`failed to load secret "${ref.namespace}/${ref.name}"`)(cause)
  })
}

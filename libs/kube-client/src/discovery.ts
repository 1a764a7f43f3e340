import { isNotFound } from './api-error.ts'
import type { CallOptions, KubeClient } from './client.ts'

/** Whether the server serves a kind in a group and version, as `storage.k8s.io/v1`. Throws when it cannot be asked. */
export async function hasResource(
  client: Pick<KubeClient, 'discover'>,
  groupVersion: string,
  kind: string,
  options?: CallOptions,
): Promise<boolean> {
  const path = groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`
  try {
    return kindsOf(await client.discover(path, options)).includes(kind)
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

function kindsOf(answer: unknown): unknown[] {
  if (typeof answer !== 'object' || answer === null || !('resources' in answer)) return []
  const { resources } = answer
  if (!Array.isArray(resources)) return []
  return resources.map((resource: unknown) =>
    typeof resource === 'object' && resource !== null && 'kind' in resource ? resource.kind : undefined,
  )
}

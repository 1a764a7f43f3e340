import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject, Resource } from '@csi-sidecars/kube-types'

/** A run that reads from the API server. */
interface ReadingRun {
  readonly deps: { readonly api: Pick<KubeClient, 'get'> }
  readonly signal: AbortSignal
}

/** Reads an object of the cluster from the API server. Returns undefined if it does not exist. */
export async function readIfExists<T extends KubeObject>(
  { deps, signal }: ReadingRun,
  resource: Resource<T>,
  name: string,
): Promise<T | undefined> {
  try {
    return await deps.api.get(resource, { name }, { signal })
  } catch (error) {
    signal.throwIfAborted()
    if (isNotFound(error)) return undefined
    throw error
  }
}

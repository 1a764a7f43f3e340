import type { KubeClient } from '@csi-sidecars/kube-client'
import { PODS } from '@csi-sidecars/kube-types'
import { claimKeysOf, podProjection } from '../caches/pod.ts'
import { coalesced } from '../coalesce.ts'

/** Asks the API, not a cache, which claims of a namespace placed pods use. */
export type LiveUse = (namespace: string, signal: AbortSignal) => Promise<ReadonlySet<string>>

/** Thousands of claims that are deleted at once share a handful of lists. */
export function liveUse(client: Pick<KubeClient, 'list'>): LiveUse {
  return coalesced(async (namespace, signal) => {
    const used = new Set<string>()
    for await (const page of client.list(PODS, { namespace, project: claimsInUse, signal })) {
      for (const keys of page.items) for (const key of keys) used.add(key)
    }
    return used
  })
}

function claimsInUse(pod: Parameters<typeof podProjection>[0]): readonly string[] {
  const projected = podProjection(pod)
  return projected.nodeName === '' ? [] : claimKeysOf(projected)
}

import { type Clock, deadline, isAbort } from '@csi-sidecars/base'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { type ObjectRef, PODS } from '@csi-sidecars/kube-types'
import { except } from '@csi-sidecars/volume-controllers'

/** Everything that the end of a cluster needs to delete its pods and to unmount their volumes. */
export interface EndPodsParts {
  readonly client: Pick<KubeClient, 'list' | 'delete'>
  readonly clock: Clock
  /** Returns the paths at which volumes are mounted or may be mounted. */
  readonly mounted: () => readonly string[]
}

/** The time for all unmounts. After it the cluster stops, even if an unmount hangs. */
const TIMEOUT_MS = 30_000
const POLL_MS = 50

/** Deletes all pods and waits until no volume is mounted, at most 30 seconds. */
export async function endPods({ client, clock, mounted }: EndPodsParts): Promise<void> {
  using limit = deadline(clock, TIMEOUT_MS, { operation: 'ending the pods' })
  const { signal } = limit
  try {
    for (const ref of await podsOf(client, signal)) await except(isNotFound, client.delete(PODS, ref, { signal }))
    while (mounted().length > 0) await clock.sleep(POLL_MS, signal)
  } catch (error) {
    if (!signal.aborted || !isAbort(error)) throw error
  }
}

async function podsOf(client: EndPodsParts['client'], signal: AbortSignal): Promise<readonly ObjectRef[]> {
  const refs: ObjectRef[] = []
  const project = ({ metadata }: { metadata?: { name?: string; namespace?: string } }): ObjectRef => ({
    name: metadata?.name ?? '',
    namespace: metadata?.namespace,
  })
  for await (const { items } of client.list(PODS, { project, signal })) refs.push(...items)
  return refs
}

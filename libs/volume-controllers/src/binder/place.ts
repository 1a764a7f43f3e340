import { isConflict, type KubeClient } from '@csi-sidecars/kube-client'
import type { KubeObject, Resource } from '@csi-sidecars/kube-types'
import type { CachedPod } from '../caches/pod.ts'
import { except, refOf } from '../control.ts'

interface Binding extends KubeObject {
  readonly target: { readonly apiVersion: string; readonly kind: string; readonly name: string }
}

const BINDINGS: Resource<Binding> = {
  group: '',
  version: 'v1',
  plural: 'bindings',
  kind: 'Binding',
  namespaced: true,
  subresources: [],
}

/** Binds a pod to a node, as a scheduler does. A pod that another scheduler has placed keeps its node. */
export async function placePod(
  client: KubeClient,
  { pod, node }: { readonly pod: CachedPod; readonly node: string },
  signal: AbortSignal,
): Promise<void> {
  const target = { apiVersion: 'v1', kind: 'Node', name: node }
  await except(isConflict, client.create(BINDINGS, { metadata: refOf(pod.key), target }, { signal }))
}

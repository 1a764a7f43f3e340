import type { Clock } from '@csi-sidecars/base'
import type { ApiServer } from '@csi-sidecars/emulator'
import { isConflict, type KubeClient } from '@csi-sidecars/kube-client'
import { type KubeObject, PODS, type Resource, rfc3339 } from '@csi-sidecars/kube-types'
import type { CachedPod } from '../caches/pod.ts'
import { refOf } from '../control.ts'

/** Gives a pod its node. One that somebody else has placed meanwhile stays there. */
export type PlacePod = (pod: CachedPod, node: string, signal: AbortSignal) => Promise<void>

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

/** As a scheduler does: a node's name in a pod is changed by nothing else. */
export function placeByBinding(client: KubeClient): PlacePod {
  return async (pod, node, signal) => {
    const target = { apiVersion: 'v1', kind: 'Node', name: node }
    try {
      await client.create(BINDINGS, { metadata: { ...refOf(pod.key), uid: pod.uid }, target }, { signal })
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

/** The emulated server knows no bindings, so what one does is done to the pod itself. */
export function placeDirectly(api: ApiServer, clock: Clock): PlacePod {
  return async ({ key, uid }, node) => {
    const ref = refOf(key)
    const { metadata, spec } = api.get(PODS, ref) ?? {}
    if (metadata?.uid !== uid || spec === undefined || spec.nodeName) return
    const scheduled = { type: 'PodScheduled', status: 'True', lastTransitionTime: rfc3339(clock.now()) }
    api.update(PODS, ref, (pod) => ({
      ...pod,
      spec: { ...spec, nodeName: node },
      status: { ...pod.status, conditions: [...(pod.status?.conditions ?? []), scheduled] },
    }))
  }
}

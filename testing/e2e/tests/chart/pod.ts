import type { Pod } from '@csi-sidecars/kube-types'

/** The fields of a container that are needed to run it. */
export interface ContainerSpec {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly { name: string; value?: string; valueFrom?: { fieldRef?: { fieldPath: string } } }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly readinessProbe?: { readonly httpGet: { readonly path: string; readonly port: string | number } }
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

/** The fields of a pod that a node reads. */
interface PodSpec {
  readonly containers: readonly ContainerSpec[]
  readonly serviceAccountName?: string
  readonly restartPolicy?: string
}

const specOf = (pod: Pod): PodSpec => (pod as { spec?: unknown }).spec as PodSpec
export const containersOf = (pod: Pod): readonly ContainerSpec[] => specOf(pod).containers
export const accountOf = (pod: Pod): string => specOf(pod).serviceAccountName ?? 'default'
/** Reports whether a pod belongs to `helm test`, so that it runs to its end. */
export const runsToEnd = (pod: Pod): boolean => specOf(pod).restartPolicy === 'Never'

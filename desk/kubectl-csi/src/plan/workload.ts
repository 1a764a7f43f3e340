import type { Container, DaemonSet, Deployment, StatefulSet } from '@csi-sidecars/kube-types'

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet'
export const WORKLOAD_KINDS: readonly WorkloadKind[] = ['Deployment', 'StatefulSet', 'DaemonSet']

export type WorkloadObject = Deployment | StatefulSet | DaemonSet
export type PodSpec = NonNullable<NonNullable<NonNullable<Deployment['spec']>['template']>['spec']>

/** An object with a pod template. */
export interface Workload {
  readonly kind: WorkloadKind
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** The UID and the generation of an object in a cluster. Undefined for a manifest. */
  readonly version: { readonly uid: string; readonly generation: number } | undefined
  /** The object that owns the workload, such as `CephCluster rook-ceph`. Its operator may undo patches. */
  readonly owner: string | undefined
  readonly pod: PodSpec
}

/** A container with its place in the pod template. */
export interface PlacedContainer {
  readonly list: 'containers' | 'initContainers'
  readonly index: number
  readonly container: Container
}

/** Returns a workload. `object` has the expected shape. `namespace` is for a manifest that names none. */
export function workloadOf(object: WorkloadObject, kind: WorkloadKind, namespace: string): Workload | undefined {
  const { metadata = {}, spec } = object
  const pod = spec?.template.spec
  if (pod == null || (pod.containers ?? []).length === 0) return undefined
  const { uid, generation } = metadata
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  return {
    kind,
    namespace: metadata.namespace ?? namespace,
    name: metadata.name ?? '',
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    version: uid === undefined || generation === undefined ? undefined : { uid, generation },
    owner: owner === undefined ? undefined : `${owner.kind} ${owner.name}`,
    pod,
  }
}

/** Returns the containers that run as long as the pod: also those of `initContainers` that never end. */
export function runningContainers({ containers, initContainers = [] }: PodSpec): readonly PlacedContainer[] {
  const place = (list: PlacedContainer['list']) => (container: Container, index: number) => ({ list, index, container })
  const sidecars = initContainers
    .map(place('initContainers'))
    .filter(({ container }) => container.restartPolicy === 'Always')
  return [...(containers ?? []).map(place('containers')), ...sidecars]
}

export function textOfWorkload({ kind, namespace, name }: Pick<Workload, 'kind' | 'namespace' | 'name'>): string {
  return `${kind} ${namespace}/${name}`
}

/** Returns the service account of a pod. */
export function accountOf({ serviceAccountName, serviceAccount }: PodSpec): string {
  return serviceAccountName || serviceAccount || 'default'
}

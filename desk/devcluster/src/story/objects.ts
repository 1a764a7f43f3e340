import type { Driver } from '@csi-sidecars/csi'
import type {
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttributesClass,
  VolumeSnapshot,
  VolumeSnapshotClass,
} from '@csi-sidecars/kube-types'
import { dump } from 'js-yaml'
import type { SidecarTarget } from '../cluster/binaries.ts'

export type CopyName = keyof typeof COPIES

/** The fields of a pod that the demo creates. */
export interface PodOptions {
  readonly pod: string
  /** The node of the pod. Undefined if a scheduler must choose it. */
  readonly node?: string
  readonly claim?: string
}

/** The names of the objects that the demo creates. */
export const NAMES = {
  namespace: 'default',
  claim: 'data',
  storageClass: 'devcluster',
  gold: 'gold',
  snapshot: 'backup',
} as const
export const CLAIM = `${NAMES.namespace}/${NAMES.claim}`

/** The template that brings the label of a claim into a parameter of its volume. */
const TEMPLATE = { tags: `team=\${pvc.labels['team']|max(63):-none}` } as const
const LABELS = { team: 'db' } as const

/** Returns the StorageClass of the demo. Its parameters have a template if the provisioner replaces templates. */
export function classObject(
  { name }: Pick<Driver, 'name'>,
  { hasParameterTemplates }: Pick<SidecarTarget, 'hasParameterTemplates'>,
): StorageClass {
  return {
    metadata: { name: NAMES.storageClass },
    provisioner: name,
    allowVolumeExpansion: true,
    reclaimPolicy: 'Delete',
    ...(hasParameterTemplates && { parameters: TEMPLATE }),
  }
}

export function goldObject(driverName: string): VolumeAttributesClass {
  return { metadata: { name: NAMES.gold }, driverName, parameters: { iops: '5000' } }
}

export function snapshotClassObject(driver: string): VolumeSnapshotClass {
  return { metadata: { name: NAMES.storageClass }, driver, deletionPolicy: 'Delete' }
}

export function snapshotObject(): VolumeSnapshot {
  return {
    metadata: { name: NAMES.snapshot, namespace: NAMES.namespace },
    spec: { source: { persistentVolumeClaimName: NAMES.claim }, volumeSnapshotClassName: NAMES.storageClass },
  }
}

/** The copies of the demo's volume: the names of their claims, and the objects that they copy. */
export const COPIES = {
  restored: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: NAMES.snapshot },
  clone: { kind: 'PersistentVolumeClaim', name: NAMES.claim },
} as const
export function copyObject(name: CopyName, size: string): PersistentVolumeClaim {
  const claim = claimObject(size, name)
  return { ...claim, spec: { ...claim.spec, dataSource: COPIES[name] } }
}

export function claimObject(size: string, name: string = NAMES.claim): PersistentVolumeClaim {
  return {
    metadata: { name, namespace: NAMES.namespace, labels: LABELS },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: NAMES.storageClass,
      resources: { requests: { storage: size } },
    },
  }
}

export function podObject({ pod, node, claim = NAMES.claim }: PodOptions): Pod {
  return {
    metadata: { name: pod, namespace: NAMES.namespace },
    spec: {
      ...(node !== undefined && { nodeName: node }),
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
    },
  }
}

/** Returns a file for kubectl with a claim and a pod that uses it, which the user can edit. */
export function exampleFile(): string {
  const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimObject('1Gi', 'mine') }
  const pod = { apiVersion: 'v1', kind: 'Pod', ...podObject({ pod: 'mine', claim: 'mine' }) }
  const comment = '# A claim, and a pod that uses its volume. The scheduler finds a node for the pod.'
  return `${comment}\n${dump(claim)}---\n${dump(pod)}`
}

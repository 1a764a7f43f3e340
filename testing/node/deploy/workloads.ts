import { TEST_IMAGE } from '../build/image-names.ts'
import { SNAPSHOT_CLASS, STORAGE_CLASS } from './manifests.ts'

/** The name and the requested size of a claim, and the source of its content. `storage` is a Kubernetes quantity. */
export interface ClaimOptions {
  readonly name: string
  readonly storage: string
  /** A snapshot or a claim to copy. */
  readonly dataSource?: object
}

export function namespace(name: string, labels: Readonly<Record<string, string>> = {}): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
}

export function claim(namespaceName: string, { name, storage, dataSource }: ClaimOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: namespaceName },
    spec: {
      storageClassName: STORAGE_CLASS,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage } },
      ...(dataSource === undefined ? {} : { dataSource }),
    },
  }
}

/** Returns a pod that mounts the claim of its name at /data, runs the script, and then waits. */
export function pod(
  namespaceName: string,
  { name, script }: { readonly name: string; readonly script: string },
): object {
  const container = {
    name: 'shell',
    image: TEST_IMAGE,
    command: ['sh', '-c', `${script}; while :; do sleep 1; done`],
    volumeMounts: [{ name: 'volume', mountPath: '/data' }],
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: namespaceName, labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [container],
      volumes: [{ name: 'volume', persistentVolumeClaim: { claimName: name } }],
    },
  }
}

/** Returns a snapshot of the claim of its name. */
export function snapshot(namespaceName: string, claimName: string): object {
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshot',
    metadata: { name: claimName, namespace: namespaceName },
    spec: { volumeSnapshotClassName: SNAPSHOT_CLASS, source: { persistentVolumeClaimName: claimName } },
  }
}

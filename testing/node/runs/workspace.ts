import { TEST_IMAGE } from '../build/image-names.ts'
import { apply, kubectl, list, remove } from '../deploy/kubectl.ts'
import { SNAPSHOT_CLASS, STORAGE_CLASS } from '../deploy/manifests.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'

/** A claim and the pod that mounts it at /data. The pod runs the script, and then waits. */
export interface Workload {
  readonly name: string
  readonly script: string
  /** A Kubernetes quantity. Default: 1Gi. */
  readonly storage?: string
  /** A snapshot or a claim whose content the volume gets. */
  readonly dataSource?: object
}

/** The namespace of one run, with its claims, pods and snapshots. */
export class Workspace {
  /** The node of the namespace. After a restart of the node it is replaced. */
  node: NodeRecord
  readonly name: string
  #volumesBefore: readonly string[] = []

  constructor(node: NodeRecord, name: string) {
    this.node = node
    this.name = name
  }

  /** Creates the namespace, without the objects of an earlier run. */
  open(): void {
    remove(this.node, 'namespace', this.name)
    this.#volumesBefore = this.volumeObjects()
    kubectl(this.node, 'create', 'namespace', this.name)
  }

  /** Waits until all volumes and snapshots of the run are gone, and removes the namespace. */
  async close(): Promise<void> {
    await this.volumesEnd()
    remove(this.node, 'namespace', this.name)
  }

  kubectl(...args: readonly string[]): string {
    return kubectl(this.node, '-n', this.name, ...args)
  }

  /** Waits until a condition holds for the objects, as `kubectl wait --for` understands it. */
  wait(condition: string, ...objects: readonly string[]): void {
    this.kubectl('wait', `--for=${condition}`, '--timeout=180s', ...objects)
  }

  createClaims(names: readonly string[], storage = '1Gi'): void {
    this.#apply(names.map((name) => claim({ name, storage })))
  }

  /** Creates pods with their claims, and waits until they are ready. */
  start(...workloads: readonly Workload[]): void {
    this.#apply(workloads.flatMap((each) => [claim(each), pod(each)]))
    this.wait('condition=Ready', ...workloads.map(({ name }) => `pod/${name}`))
  }

  /** Creates a snapshot of the claim of its name, and waits until it is ready. */
  snapshot(name: string): void {
    this.#apply([snapshotOf(name)])
    this.wait('jsonpath={.status.readyToUse}=true', `volumesnapshot/${name}`)
  }

  /** Changes the claim, and waits until its status shows the value. */
  changeClaim(name: string, spec: object, [field, value]: readonly [field: string, value: string]): void {
    this.kubectl('patch', 'pvc', name, '--type=merge', '-p', JSON.stringify({ spec }))
    this.wait(`jsonpath={.status.${field}}=${value}`, `pvc/${name}`)
  }

  /** Returns the content of a file in a pod. */
  read(pod: string, file: string): string {
    return this.kubectl('exec', pod, '--', 'cat', file)
  }

  list<T>(kind: string): readonly T[] {
    return list<T>(this.node, kind, '-n', this.name)
  }

  /** Deletes objects and waits until they are gone. */
  remove(...objects: readonly string[]): void {
    remove(this.node, '-n', this.name, ...objects)
  }

  /** Returns the names of the objects that exist for volumes and snapshots in the whole cluster. */
  volumeObjects(): readonly string[] {
    const kinds = 'persistentvolumes,volumeattachments,volumesnapshotcontents'
    return list(this.node, kinds).map(({ kind, metadata }) => `${kind}/${metadata.name}`)
  }

  /** Waits until only those objects of volumes and snapshots exist that existed before. Default: before the run. */
  async volumesEnd(before = this.#volumesBefore): Promise<void> {
    const left = (): readonly string[] => this.volumeObjects().filter((name) => !before.includes(name))
    await until('end of all volumes', () => left().length === 0, { seconds: 180, diagnose: () => left().join(' ') })
  }

  #apply(objects: readonly { readonly metadata: object }[]): void {
    apply(
      this.node,
      objects.map((each) => ({ ...each, metadata: { ...each.metadata, namespace: this.name } })),
    )
  }
}

function claim({ name, storage = '1Gi', dataSource }: Omit<Workload, 'script'>) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      storageClassName: STORAGE_CLASS,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage } },
      ...(dataSource === undefined ? {} : { dataSource }),
    },
  }
}

function pod({ name, script }: Workload) {
  const container = {
    name: 'shell',
    image: TEST_IMAGE,
    command: ['sh', '-c', `${script}; while :; do sleep 1; done`],
    volumeMounts: [{ name: 'volume', mountPath: '/data' }],
  }
  const volumes = [{ name: 'volume', persistentVolumeClaim: { claimName: name } }]
  const spec = { terminationGracePeriodSeconds: 1, containers: [container], volumes }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: { app: name } }, spec }
}

function snapshotOf(name: string) {
  const spec = { volumeSnapshotClassName: SNAPSHOT_CLASS, source: { persistentVolumeClaimName: name } }
  return { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot', metadata: { name }, spec }
}

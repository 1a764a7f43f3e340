import { GO_REPOSITORY, OUR_REPOSITORY, OUR_TAG, SIDECAR_NAMES } from '../build/image-names.ts'
import { DRIVER_VOLUMES, type DriverFacts, SOCKET_VOLUME, socketFolder } from './driver-facts.ts'

/** An object of the Kubernetes API, as far as the manifests look into it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object }
  readonly [field: string]: unknown
}

export const NAMESPACE = 'storage'
/** The name of the Deployment of the sidecars, and of the label of its pods. */
export const SIDECARS_DEPLOYMENT = 'sidecars'
export const STORAGE_CLASS = 'volumes'
export const SNAPSHOT_CLASS = 'snapshots'
export const ATTRIBUTES_CLASS = 'fast'
const ACCOUNT = 'driver'

/** The namespace, the CSIDriver, the classes, and the snapshot-controller, which every variant of sidecars needs. */
export function clusterManifests({ name }: DriverFacts): readonly Manifest[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name },
      spec: {
        attachRequired: true,
        podInfoOnMount: true,
        fsGroupPolicy: 'File',
        storageCapacity: true,
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: STORAGE_CLASS },
      provisioner: name,
      allowVolumeExpansion: true,
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttributesClass',
      metadata: { name: ATTRIBUTES_CLASS },
      driverName: name,
      parameters: { e2eVacTest: '123' },
    },
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: SNAPSHOT_CLASS },
      driver: name,
      deletionPolicy: 'Delete',
    },
    ...snapshotController(),
  ]
}

function snapshotController(): readonly Manifest[] {
  const metadata = { name: 'snapshot-controller', namespace: 'kube-system' }
  const labels = { app: 'snapshot-controller' }
  const container = {
    name: 'snapshot-controller',
    image: `${GO_REPOSITORY}/snapshot-controller:node`,
    args: ['--v=2', '--leader-election=false'],
  }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    binding('ClusterRole', 'cluster-admin', metadata),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { serviceAccountName: metadata.name, containers: [container] },
        },
      },
    },
  ]
}

/** Returns the driver's pod on each node, without sidecars. */
export function driverManifest(driver: DriverFacts): Manifest {
  const labels = { app: 'driver' }
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: 'driver', namespace: NAMESPACE },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: driver.containers, volumes: [...DRIVER_VOLUMES, socketVolume(driver)] },
      },
    },
  }
}

/** Returns the volume with the driver's socket, as the driver's pod and the sidecars mount it. */
export function socketVolume({ name }: DriverFacts): object {
  return { name: SOCKET_VOLUME, hostPath: { path: socketFolder(name), type: 'DirectoryOrCreate' } }
}

/** Returns the image of a sidecar: of the Go sidecar or of ours. */
export function sidecarImage(sidecars: 'go' | 'ours', name: string): string {
  return sidecars === 'go' ? `${GO_REPOSITORY}/csi-${name}:node` : `${OUR_REPOSITORY}/csi-${name}:${OUR_TAG}`
}

const PROVISIONER_ARGS = [
  '--feature-gates=Topology=true',
  '--enable-capacity',
  '--capacity-for-immediate-binding',
  '--capacity-ownerref-level=2',
]

function fieldVariable(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

/** Returns a Deployment of the four sidecars. Only the images of the two variants differ. */
export function sidecarsManifest(
  sidecars: 'go' | 'ours',
  driver: DriverFacts,
  { name: deployment, replicas }: { readonly name: string; readonly replicas: number },
): Manifest {
  const labels = { app: deployment }
  const containers = SIDECAR_NAMES.map((name) => ({
    name: `csi-${name}`,
    image: sidecarImage(sidecars, name),
    args: [
      '--v=5',
      '--csi-address=/csi/csi.sock',
      '--leader-election',
      ...(name === 'provisioner' ? PROVISIONER_ARGS : []),
    ],
    env: [fieldVariable('NAMESPACE', 'metadata.namespace'), fieldVariable('POD_NAME', 'metadata.name')],
    volumeMounts: [{ name: SOCKET_VOLUME, mountPath: '/csi' }],
  }))
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: deployment, namespace: NAMESPACE },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: ACCOUNT, containers, volumes: [socketVolume(driver)] },
      },
    },
  }
}

/**
 * Returns the roles of the Go sidecars' own manifests for one ServiceAccount. The manifests bind them to an account
 * for each sidecar, and drivers bind them to the account of their pod.
 */
export function permissions(manifests: readonly Manifest[]): readonly Manifest[] {
  const account = { name: ACCOUNT, namespace: NAMESPACE }
  const roles = manifests.flatMap((manifest): Manifest[] => {
    const { kind, metadata } = manifest
    if (kind === 'ClusterRole') return [manifest, binding(kind, metadata.name, account)]
    if (kind !== 'Role') return []
    const role = { ...manifest, metadata: { ...metadata, namespace: NAMESPACE } }
    return [role, binding(kind, metadata.name, account)]
  })
  return [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account }, ...roles]
}

function binding(
  kind: 'Role' | 'ClusterRole',
  role: string,
  account: { readonly name: string; readonly namespace: string },
): Manifest {
  const { name, namespace } = account
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: `${kind}Binding`,
    metadata: { name: `${name}-${role}`, ...(kind === 'Role' ? { namespace } : {}) },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  }
}

/** Returns the values of our chart for the driver on one node, with all sidecars in one process. */
export function chartValues(driver: DriverFacts): object {
  return {
    image: { registry: OUR_REPOSITORY },
    sidecars: { image: { tag: OUR_TAG } },
    process: 'one',
    // A second copy of the driver on this node would create a second socket.
    controller: { replicaCount: 1 },
    provisioner: { enabled: true, capacity: { enabled: true, immediateBinding: true } },
    snapshotter: { enabled: true },
    livenessprobe: { enabled: true },
    driver: { name: driver.name, containers: driver.containers, volumes: DRIVER_VOLUMES },
    socketDir: { volume: { hostPath: { path: socketFolder(driver.name), type: 'DirectoryOrCreate' } } },
  }
}

/** Returns the values for two replicas, for a driver that runs in a pod of its own. */
export function separateValues(driver: DriverFacts): object {
  return {
    ...chartValues(driver),
    mode: 'separate',
    controller: { replicaCount: 2 },
    livenessprobe: { enabled: false },
    driver: { name: driver.name },
  }
}

/** Returns what the driver can do, for Kubernetes' storage tests. */
export function testDriver({ name, topologyKey, hasGroupSnapshots }: DriverFacts): object {
  const capabilities = [...CAPABILITIES, ...(hasGroupSnapshots ? ['groupSnapshot'] : [])]
  return {
    StorageClass: { FromName: true },
    SnapshotClass: { FromName: true },
    GroupSnapshotClass: { FromName: true },
    VolumeAttributesClass: { FromExistingClassName: ATTRIBUTES_CLASS },
    InlineVolumes: [{ shared: false }],
    DriverInfo: {
      Name: name,
      MaxFileSize: 100 * 1024 * 1024,
      SupportedSizeRange: { Min: '1Mi' },
      TopologyKeys: [topologyKey],
      Capabilities: Object.fromEntries(capabilities.map((capability) => [capability, true])),
      StressTestOptions: { NumPods: 5, NumRestarts: 3 },
      VolumeSnapshotStressTestOptions: { NumPods: 5, NumSnapshots: 3 },
      VolumeModifyStressTestOptions: { NumPods: 5 },
    },
  }
}

const CAPABILITIES = [
  ...['persistence', 'exec', 'block', 'fsGroup', 'multipods', 'snapshotDataSource', 'pvcDataSource'],
  ...['controllerExpansion', 'nodeExpansion', 'offlineExpansion', 'onlineExpansion'],
  ...['singleNodeVolume', 'topology', 'readWriteOncePod', 'multiplePVsSameID', 'capacity'],
  'FSResizeFromSourceNotSupported',
]

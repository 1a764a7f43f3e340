import type { Values } from './values.ts'

/** The values with which our chart runs the sidecars as a vendor's chart does, for each vendor. */

/** Disables the probes, because none of these vendors probes the sidecars. */
const OFF = { startupProbe: { enabled: false }, livenessProbe: { enabled: false }, readinessProbe: { enabled: false } }
const driver = (name: string, mountPath: string): Values => ({
  name,
  containers: [
    {
      name: 'driver',
      image: `registry.example.com/${name}:v1.0.0`,
      volumeMounts: [{ name: 'socket-dir', mountPath }],
    },
  ],
})

const PROXY = '/var/lib/csi/sockets/pluginproxy'
const limits = (kubeAPIQPS: number, kubeAPIBurst: number): Values => ({ kubeAPIQPS, kubeAPIBurst })
const EVEN_IN_USE = { handleVolumeInUseError: false }

export const VENDOR_VALUES: Readonly<Record<string, Values>> = {
  'aws-ebs': {
    driver: driver('ebs.csi.aws.com', PROXY),
    socketDir: { mountPath: PROXY },
    attacher: {
      ...OFF,
      ...limits(20, 100),
      timeout: '6m',
      workerThreads: 100,
      retryIntervalMax: '5m',
      featureGates: { MutableCSINodeAllocatableCount: true },
    },
    resizer: {
      ...OFF,
      ...limits(20, 100),
      ...EVEN_IN_USE,
      timeout: '60s',
      workers: 100,
      retryIntervalMax: '30m',
      extraModifyMetadata: true,
      env: [{ name: 'ENABLE_VAC_FALLBACK', value: 'true' }],
    },
    controller: { podSecurityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 } },
  },
  azuredisk: {
    driver: driver('disk.csi.azure.com', '/csi'),
    leaderElection: { namespace: 'kube-system' },
    attacher: { ...OFF, ...limits(200, 400), timeout: '1200s', workerThreads: 1000 },
    resizer: {
      ...OFF,
      ...EVEN_IN_USE,
      timeout: '240s',
      retryIntervalMax: '30m',
      featureGates: { RecoverVolumeExpansionFailure: true, VolumeAttributesClass: true },
    },
    rbac: { secrets: true },
    controller: {
      hostNetwork: true,
      podSpec: { dnsPolicy: 'ClusterFirst' },
      tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' }],
    },
  },
  'ceph-rbd': {
    metrics: { enabled: true },
    driver: driver('rbd.csi.ceph.com', '/csi'),
    socketDir: { fileName: 'csi-provisioner.sock', volume: { emptyDir: { medium: 'Memory' } } },
    logging: { verbosity: 1 },
    attacher: { ...OFF, timeout: '', retryIntervalStart: '500ms', defaultFsType: 'ext4', metricsPort: 8093 },
    resizer: {
      ...OFF,
      ...EVEN_IN_USE,
      timeout: '150s',
      retryIntervalStart: '500ms',
      featureGates: { RecoverVolumeExpansionFailure: true },
      metricsPort: 8091,
    },
    rbac: { secrets: true },
    controller: { replicaCount: 3 },
  },
  hetzner: {
    driver: driver('csi.hetzner.cloud', '/run/csi'),
    socketDir: { mountPath: '/run/csi', fileName: 'socket' },
    logging: { verbosity: null },
    leaderElection: { enabled: false },
    attacher: { ...OFF, timeout: '', defaultFsType: 'ext4' },
    resizer: OFF,
    controller: { replicaCount: 1, podSecurityContext: { fsGroup: 1001 } },
  },
  'democratic-csi': {
    driver: driver('org.democratic-csi.nfs', '/csi-data'),
    socketDir: { mountPath: '/csi-data' },
    logging: { verbosity: 5 },
    attacher: { ...OFF, timeout: '90s' },
    resizer: { ...OFF, timeout: '90s' },
    rbac: { secrets: true },
  },
  cinder: {
    driver: driver('cinder.csi.openstack.org', PROXY),
    socketDir: { mountPath: PROXY },
    logging: { verbosity: null },
    attacher: { ...OFF, timeout: '3m', defaultFsType: 'ext4' },
    resizer: { ...OFF, ...EVEN_IN_USE, timeout: '3m' },
  },
  nfs: {
    driver: driver('nfs.csi.k8s.io', '/csi'),
    attacher: { enabled: false },
    resizer: { ...OFF, ...EVEN_IN_USE, featureGates: { VolumeAttributesClass: false } },
    controller: { hostNetwork: true },
  },
  vsphere: {
    driver: driver('csi.vsphere.vmware.com', '/csi'),
    logging: { verbosity: 4 },
    leaderElection: { leaseDuration: '120s', renewDeadline: '60s', retryPeriod: '30s' },
    attacher: { ...OFF, ...limits(100, 100), timeout: '300s', workerThreads: 100 },
    resizer: {
      ...OFF,
      ...limits(100, 100),
      ...EVEN_IN_USE,
      timeout: '300s',
      featureGates: { RecoverVolumeExpansionFailure: false },
    },
    controller: {
      replicaCount: 3,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      podSpec: { dnsPolicy: 'Default' },
    },
  },
  longhorn: {
    metrics: { enabled: true },
    mode: 'separate',
    driver: { name: 'driver.longhorn.io' },
    socketDir: { volume: { hostPath: { path: '/var/lib/kubelet/plugins/driver.longhorn.io' } } },
    attacher: { ...OFF, ...limits(50, 100), timeout: '1m50s', retryIntervalMax: '1m', metricsPort: 8000 },
    resizer: {
      ...OFF,
      ...limits(50, 100),
      ...EVEN_IN_USE,
      timeout: '1m50s',
      retryIntervalMax: '1m',
      featureGates: { RecoverVolumeExpansionFailure: false },
      metricsPort: 8000,
    },
    controller: { replicaCount: 3 },
  },
}

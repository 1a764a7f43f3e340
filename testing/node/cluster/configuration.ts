import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS } from '../machine/folders.ts'

export const NODE_NAME = 'csi-node'
export const NODE_ADDRESS = '10.89.0.1'
export const SERVICE_RANGE = '10.96.0.0/16'
/** The image of the container that holds the namespaces of a pod. */
const SANDBOX = 'registry.k8s.io/pause:node'
const POD_RANGE = '10.88.0.0/16'
const CONTAINERD = '/run/containerd/containerd.sock'
export const REGISTRY_PORT = 5000

const { state, programs } = FOLDERS

/** The values that the kubelet sets in the kernel. The node mounts them over the real files. */
const KERNEL_VALUES: Readonly<Record<string, number>> = {
  'vm.overcommit_memory': 1,
  'vm.panic_on_oom': 0,
  'kernel.panic': 10,
  'kernel.panic_on_oops': 1,
  'kernel.keys.root_maxkeys': 1_000_000,
  'kernel.keys.root_maxbytes': 25_000_000,
}

const USERS = { admin: ['admin', 'system:masters'], kubelet: [`system:node:${NODE_NAME}`, 'system:nodes'] } as const

/** Writes the configuration of all services into the folder of the state. */
export function writeConfiguration(): void {
  const folders = ['log', 'pid', 'pki', 'kernel', 'kubelet', 'data', 'pods', 'cni', 'containerd']
  for (const folder of folders) mkdirSync(join(state, folder), { recursive: true })
  const write = (file: string, content: string | object): void => {
    mkdirSync(join(state, file, '..'), { recursive: true })
    writeFileSync(join(state, file), typeof content === 'string' ? content : JSON.stringify(content))
  }
  for (const [name, value] of Object.entries(KERNEL_VALUES)) write(`kernel/${name}`, `${value}\n`)
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  write('pki/sa.pub', publicKey.export({ type: 'spki', format: 'pem' }).toString())
  write('pki/sa.key', privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  const tokens = Object.entries(USERS).map(([token, [user, group]]) => `${token},${user},${user},${group}`)
  write('tokens.csv', `${tokens.join('\n')}\n`)
  for (const token of Object.keys(USERS)) write(`${token}.conf`, kubeconfig(token))
  write('cni/10-pods.conflist', CNI)
  write('certs.d/_default/hosts.toml', registryHosts())
  write('containerd.toml', CONTAINERD_TOML)
  write('kubelet.json', KUBELET)
}

function kubeconfig(token: string): object {
  const server = { server: `https://${NODE_ADDRESS}:443`, 'certificate-authority': join(state, 'pki', 'apiserver.crt') }
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'node', cluster: server }],
    users: [{ name: token, user: { token } }],
    contexts: [{ name: 'node', context: { cluster: 'node', user: token } }],
    'current-context': 'node',
  }
}

const CNI = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'pods0',
      isGateway: true,
      ipam: {
        type: 'host-local',
        dataDir: '/run/cni',
        ranges: [[{ subnet: POD_RANGE }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
}

/** All pulls go to the registry on the node's loopback, because the node reaches no network. */
function registryHosts(): string {
  const url = `http://127.0.0.1:${REGISTRY_PORT}`
  return `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`
}

const CONTAINERD_TOML = `version = 3
root = "${state}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.nri.v1.nri"]
[grpc]
  address = "${CONTAINERD}"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "${state}/certs.d"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${SANDBOX}"
[plugins."io.containerd.cri.v1.runtime"]
  # The root user of a container or of a virtual machine may lack the right to lower an oom_score_adj.
  restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["${programs}"]
  conf_dir = "${state}/cni"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "${programs}/runc"
  SystemdCgroup = false
`

const KUBELET = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  containerRuntimeEndpoint: `unix://${CONTAINERD}`,
  cgroupDriver: 'cgroupfs',
  failCgroupV1: false,
  failSwapOn: false,
  // A running pod sees the larger size of its claim at its next sync, which comes after up to 90 s by default.
  syncFrequency: '10s',
  enforceNodeAllocatable: [],
  evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  imageGCHighThresholdPercent: 100,
  resolvConf: '',
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  podLogsDir: join(state, 'pods'),
  maxPods: 250,
  registryPullQPS: 0,
  serializeImagePulls: false,
  kubeAPIQPS: 100,
  kubeAPIBurst: 200,
}

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CancelledError, type Clock } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type NodeGetInfoResponse,
} from '@csi-sidecars/csi-proto'
import { answered, type CallSource, type LiveCalls } from '@csi-sidecars/disturb'
import { type ApiServer, type CsiDriver, startApiServer } from '@csi-sidecars/emulator'
import { createKubeClient, isNotFound, loadClusterConfig, type OwnedKubeClient } from '@csi-sidecars/kube-client'
import { CSI_DRIVERS, type CSIDriver } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import {
  type Caches,
  cachesSynced,
  createCaches,
  except,
  folderDisk,
  kubeletPaths,
  memoryDisk,
  type NodeOptions,
  nodeInfo,
  openDriver,
  runCaches,
  withSubstituteNode,
} from '@csi-sidecars/volume-controllers'
import { type SidecarPaths, type SidecarTarget, type StartedSidecar, startSidecars } from './binaries.ts'
import type { Controllers } from './controllers.ts'
import { endPods } from './end-pods.ts'
import { ensure, ensureAccount, nodeIds, registerDriver, registerNode } from './register.ts'
import { openNodes, openSockets, type SocketOptions } from './sockets.ts'
import { type ControllerName, startControllers } from './start-controllers.ts'

/** The options of an embedded cluster. Each one has a default except the folder and the number of nodes. */
export interface DevclusterOptions extends SocketOptions {
  /** The number of nodes. */
  readonly nodes: number
  /** The controllers to run. Undefined: all. */
  readonly controllers?: readonly ControllerName[] | undefined
  /** The kubeconfig of a real API server. Undefined: the emulated API server is started. */
  readonly kubeconfig?: string | undefined
  /** The minor version of Kubernetes whose behaviour the controllers copy. Undefined: that of the API server. */
  readonly kubernetesMinor?: number | undefined
  /**
   * The answer of each node to NodeGetInfo. Undefined: the cluster asks the driver. If this is set without
   * `nodeSockets`, the node services are emulated and nothing is mounted.
   */
  readonly knownNodes?: readonly NodeGetInfoResponse[] | undefined
  /** The CSIDriver object to create. Undefined: the cluster derives the CSIDriver from the driver's capabilities. */
  readonly csiDriver?: CSIDriver | undefined
  readonly binaries?: SidecarPaths
  /** Additional flags for every sidecar. */
  readonly sidecarArgs?: readonly string[] | undefined
  /** True if the provisioner runs with `--parameter-templates`. The default is false. */
  readonly hasParameterTemplates?: boolean | undefined
  /** The resync period of the PV controller. Default: 15 seconds, as in Kubernetes. */
  readonly resyncMs?: number | undefined
  /** The number of latest requests that the emulated API server keeps for tests. The default is 0. */
  readonly keptRequests?: number | undefined
  /** The folder for the mounts of all nodes, if the driver really mounts. */
  readonly data?: string | undefined
  /** The folder for the socket, the kubeconfig and the logs. */
  readonly directory: string
  readonly clock: Clock
  readonly log: Logger
  /** Called with a message when a controller or a sidecar ends unexpectedly. */
  readonly onTrouble: (message: string) => void
}

/** A running cluster that does everything that Kubernetes does with volumes. It runs no containers. */
export interface Devcluster {
  readonly client: OwnedKubeClient
  readonly caches: Caches
  readonly driver: Driver
  readonly controllers: Controllers
  readonly sidecars: readonly StartedSidecar[]
  readonly nodeNames: readonly string[]
  readonly kubeconfig: string
  /** The addresses of the driver and of the API server, for the sidecars. */
  readonly connection: SidecarTarget
  /** The emulated API server, which tests can read and break. Undefined if `kubeconfig` was given. */
  readonly api: ApiServer | undefined
  readonly emulatedDriver: CsiDriver | undefined
  /** Reports each CSI call when it has ended, including the calls of the sidecars. */
  readonly calls: CallSource
  /** Reports each CSI call when it begins and when it ends. */
  readonly liveCalls: LiveCalls
  /** Returns the paths on the nodes at which volumes are mounted or may be mounted. */
  mounted(): readonly string[]
  /** Stops the cluster. If the user's own driver mounts volumes, all pods are deleted first. */
  stop(): Promise<void>
}

/** Starts the parts of a cluster, each after the parts that it needs. `stop` ends them in reverse order. */
export async function startDevcluster(options: DevclusterOptions, signal: AbortSignal): Promise<Devcluster> {
  await using stack = new AsyncDisposableStack()
  const { clock, log, directory, onTrouble } = options
  await mkdir(directory, { recursive: true })
  const { api, kubeconfig } = await openApi(options, stack)
  const config = await loadClusterConfig({ kubeconfig, env: {}, clock, log })
  const client = createKubeClient({ config, flow: { kind: 'adaptive' }, clock, log, userAgent: 'devcluster' })
  stack.defer(() => client.close())
  const { address, nodes: nodeSockets, liveCalls, emulatedDriver } = await openSockets(options, stack, signal)
  const { knownNodes, csiDriver } = options
  const services = knownNodes === undefined ? 'all' : 'controller'
  const opened = await openDriver({ address, clock, log, signal, services })
  const driver = knownNodes === undefined || nodeSockets.length > 0 ? opened : withSubstituteNode(opened)
  stack.defer(() => driver.close())
  const nodeDrivers = await openNodes(nodeSockets, { clock, log, signal, stack })
  const nodeNames = Array.from({ length: knownNodes?.length ?? options.nodes }, (_, index) => `node-${index + 1}`)
  const infos = knownNodes ?? (await nodeInfos(driver, nodeNames, signal))
  await registerAll(client, { driver, nodeNames, infos, csiDriver, nowMs: clock.now() }, signal)
  const snapshots =
    driver.capabilities.controller.has(ControllerRpc.CREATE_DELETE_SNAPSHOT) && (await servesSnapshots(client, signal))
  const caches = createCaches({ client, clock, log, snapshots })
  await followApi(caches, stack, signal)
  const deps = { client, caches, clock, log }
  const nodes = nodesOf(nodeNames, nodeDrivers, options)
  const minor = options.kubernetesMinor ?? (await minorVersion(client, signal))
  const controllers = startControllers({ ...deps, driver }, { ...options, nodes, minor }, onTrouble)
  stack.defer(() => controllers.stopAll())
  const hasTopology = infos.some(({ accessibleTopology }) => accessibleTopology !== undefined)
  const { hasParameterTemplates = false } = options
  const connection = { csiAddress: address, kubeconfig, hasTopology, hasParameterTemplates }
  const { snapshotter, ...others } = options.binaries ?? {}
  const binaries = snapshots ? { ...others, snapshotter } : others
  const sidecars = await startSidecars(binaries, { ...options, driver, connection, stack })
  const started = stack.move()
  const mounted = (): readonly string[] => nodes.flatMap(({ disk }) => disk.records().map(({ path }) => path))
  // Pods of a real API server are not deleted. csi-driver-test unmounts its volumes itself.
  const mounts = options.driver !== undefined && api !== undefined && knownNodes === undefined
  const stop = async (): Promise<void> => {
    try {
      if (mounts) await endPods({ client, clock, mounted })
    } finally {
      await started.disposeAsync()
    }
  }
  return {
    client,
    caches,
    driver,
    controllers,
    sidecars,
    nodeNames,
    kubeconfig,
    connection,
    api,
    emulatedDriver,
    calls: answered(liveCalls),
    liveCalls,
    mounted,
    stop,
  }
}

/** The limits of the watch history of each kind of object. A client that has missed more changes must list again. */
const HISTORY = { changes: 1_000, bytes: 512 * 1024 }

/** Reports whether the API server serves VolumeSnapshots. The snapshotter cannot start without them. */
async function servesSnapshots(client: OwnedKubeClient, signal: AbortSignal): Promise<boolean> {
  const served = await except(isNotFound, client.discover('/apis/snapshot.storage.k8s.io/v1', { signal }))
  return served !== undefined
}

/** Returns the minor version of the API server. */
async function minorVersion(client: OwnedKubeClient, signal: AbortSignal): Promise<number> {
  const version = await client.discover('/version', { signal })
  const minor = typeof version === 'object' && version !== null && 'minor' in version ? version.minor : undefined
  const number = Number.parseInt(String(minor), 10)
  if (Number.isNaN(number)) throw new Error(`the API server does not report its version: ${JSON.stringify(version)}`)
  return number
}

async function openApi(
  { kubeconfig, directory, clock, keptRequests = 0 }: DevclusterOptions,
  stack: AsyncDisposableStack,
): Promise<{ readonly api: ApiServer | undefined; readonly kubeconfig: string }> {
  if (kubeconfig !== undefined) return { api: undefined, kubeconfig }
  // The server uses TLS, because kubectl and the Go sidecars send their token over TLS only.
  const api = await startApiServer({ clock, history: HISTORY, keptRequests, tls: true })
  stack.defer(() => api.stop())
  const file = join(directory, 'kubeconfig')
  await writeFile(file, api.kubeconfig(), { mode: 0o600 })
  return { api, kubeconfig: file }
}

/** Sends NodeGetInfo to the driver. Returns a copy of the answer for each node, with different node IDs. */
async function nodeInfos(
  driver: Driver,
  nodeNames: readonly string[],
  signal: AbortSignal,
): Promise<readonly NodeGetInfoResponse[]> {
  const info = await nodeInfo(driver, signal)
  return nodeIds(nodeNames, info.nodeId).map((nodeId) => ({ ...info, nodeId }))
}

interface Registered {
  readonly driver: Driver
  readonly nodeNames: readonly string[]
  readonly infos: readonly NodeGetInfoResponse[]
  readonly csiDriver: CSIDriver | undefined
  readonly nowMs: number
}

async function registerAll(
  client: OwnedKubeClient,
  { driver, nodeNames, infos, csiDriver, nowMs }: Registered,
  signal: AbortSignal,
): Promise<void> {
  await ensureAccount(client, 'default', signal)
  if (csiDriver !== undefined) await ensure({ client, signal }, CSI_DRIVERS, csiDriver)
  await registerDriver(client, driver, signal)
  const registering = infos.map((info, index) =>
    registerNode(client, { name: nodeNames[index] ?? '', driverName: driver.name, info, nowMs }, signal),
  )
  await Promise.all(registering)
}

/** Fills the caches, and keeps them up to date until the cluster stops. */
async function followApi(caches: Caches, stack: AsyncDisposableStack, signal: AbortSignal): Promise<void> {
  const life = new AbortController()
  const running = runCaches(caches, life.signal)
  stack.defer(async () => {
    life.abort(new CancelledError('the cluster is stopping'))
    await running
  })
  await cachesSynced(caches, signal)
}

function nodesOf(
  nodeNames: readonly string[],
  nodeDrivers: readonly Driver[],
  { data }: DevclusterOptions,
): readonly NodeOptions[] {
  return nodeNames.map((node, index) => {
    const root = data === undefined ? `/var/lib/kubelet/${node}` : join(data, node)
    const disk = data === undefined ? memoryDisk() : folderDisk(root)
    return { node, paths: kubeletPaths(root), disk, driver: nodeDrivers[index] }
  })
}

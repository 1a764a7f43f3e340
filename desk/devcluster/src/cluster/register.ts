import type { Driver } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  type NodeGetInfoResponse,
} from '@csi-sidecars/csi-proto'
import { isAlreadyExists, type KubeClient } from '@csi-sidecars/kube-client'
import {
  CSI_DRIVERS,
  CSI_NODES,
  type CSINode,
  type KubeObject,
  NODES,
  type Node,
  type Resource,
  rfc3339,
  SERVICE_ACCOUNTS,
} from '@csi-sidecars/kube-types'
import { CONTROLLER_MANAGED, except } from '@csi-sidecars/volume-controllers'

/** A node and the answer of the driver on it, as the kubelet writes both to the API server. */
export interface NodeRegistration {
  readonly name: string
  readonly driverName: string
  readonly info: NodeGetInfoResponse
  readonly nowMs: number
}

/** Creates an object unless it exists already. */
export async function ensure<T extends KubeObject>(
  { client, signal }: { readonly client: KubeClient; readonly signal: AbortSignal },
  resource: Resource<T>,
  object: T,
): Promise<void> {
  await except(isAlreadyExists, client.create(resource, object, { signal }))
}

/** Creates the service account `default`, which pods need. The cluster runs no controller for it. */
export async function ensureAccount(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  await ensure({ client, signal }, SERVICE_ACCOUNTS, { metadata: { name: 'default', namespace } })
}

/** Creates the CSIDriver object. It requires attach if the driver has ControllerPublishVolume. */
export async function registerDriver(client: KubeClient, driver: Driver, signal: AbortSignal): Promise<void> {
  const { name, capabilities } = driver
  const attachRequired = capabilities.controller.has(ControllerRpc.PUBLISH_UNPUBLISH_VOLUME)
  await ensure({ client, signal }, CSI_DRIVERS, { metadata: { name }, spec: { attachRequired } })
}

/** Creates a ready Node and its CSINode, as a kubelet does when its driver has registered. */
export async function registerNode(client: KubeClient, node: NodeRegistration, signal: AbortSignal): Promise<void> {
  const { name, info } = node
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...info.accessibleTopology?.segments }
  const annotations = { [CONTROLLER_MANAGED]: 'true' }
  await ensure({ client, signal }, NODES, { metadata: { name, labels, annotations } })
  await client.patch(
    NODES,
    { name },
    { kind: 'merge', body: readyStatus(node.nowMs) },
    { signal, subresource: 'status' },
  )
  // This patch removes the taints of a new node, because no node lifecycle controller runs here.
  await client.patch(
    NODES,
    { name },
    { kind: 'merge', body: { metadata: { labels, annotations }, spec: { taints: null } } },
    { signal },
  )
  await ensure({ client, signal }, CSI_NODES, csiNodeOf(node))
}

function readyStatus(nowMs: number): Pick<Node, 'status'> {
  const now = rfc3339(nowMs)
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'kubelet is posting ready status',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }
  const capacity = { cpu: '8', memory: '16Gi', pods: '500' }
  return { status: { conditions: [ready], capacity, allocatable: capacity } }
}

function csiNodeOf({ name, driverName, info }: NodeRegistration): CSINode {
  const most = Number(info.maxVolumesPerNode)
  const driver = {
    name: driverName,
    nodeID: info.nodeId,
    topologyKeys: Object.keys(info.accessibleTopology?.segments ?? {}),
    ...(most > 0 && { allocatable: { count: most } }),
  }
  return { metadata: { name }, spec: { drivers: [driver] } }
}

/** Returns the node ID of each node. The driver reports only the first ID; the other IDs are derived from it. */
export function nodeIds(names: readonly string[], first: string): readonly string[] {
  return names.map((name, index) => {
    if (index === 0) return first
    return first === names[0] ? name : `${first}-${index + 1}`
  })
}

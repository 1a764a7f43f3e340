import { relative, sep } from 'node:path'
import { type Clock, messageOf } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { type NodeGetInfoResponse, NodeServiceCapability_RPC_Type as NodeRpc } from '@csi-sidecars/csi-proto'
import type { Logger } from '@csi-sidecars/telemetry'
import { nodeCan, nodeInfo, openDriver } from '@csi-sidecars/volume-controllers'
import { retrying } from './direct-calls.ts'

/** A node service with a separate socket. It is connected without the proxy. */
export interface OwnNode {
  readonly address: string
  readonly driver: Driver
  readonly info: NodeGetInfoResponse
}

interface OpeningParts {
  /** The name of the driver at its controller socket. */
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  readonly stack: AsyncDisposableStack
}

/** Connects to the node services. Throws if a socket belongs to another driver, or two sockets to one node. */
export async function openOwnNodes(
  addresses: readonly string[],
  { name, clock, log, stack }: OpeningParts,
  signal: AbortSignal,
): Promise<readonly OwnNode[]> {
  const nodes: OwnNode[] = []
  for (const address of addresses) {
    const driver = await openDriver({ address, clock, log, signal, services: 'node' })
    stack.defer(() => driver.close())
    if (driver.name !== name) {
      throw new Error(`the driver at ${address} calls itself ${driver.name}, and that of the controller ${name}`)
    }
    const info = await retrying({ clock, signal }, () => nodeInfo(driver, signal)).catch((cause: unknown) => {
      signal.throwIfAborted()
      throw new Error(`the driver at ${address} does not answer NodeGetInfo: ${messageOf(cause)}`, { cause })
    })
    const twin = nodes.find((each) => each.info.nodeId === info.nodeId)
    if (twin !== undefined) throw new Error(`${twin.address} and ${address} are both of node ${info.nodeId}`)
    nodes.push({ address, driver, info })
  }
  return nodes
}

/** The node services of one cluster, and the folder that contains one folder for each node. */
export class OwnNodes {
  readonly all: readonly OwnNode[]
  readonly folder: string

  constructor(all: readonly OwnNode[], folder: string) {
    this.all = all
    this.folder = folder
  }

  /** Returns the node whose folder contains the path. */
  at(path: string): OwnNode | undefined {
    const [first = ''] = this.shortened(path).split(sep)
    return this.all[this.all.findIndex((_, index) => first === `node-${index + 1}`)]
  }

  /** Returns a shorter path for reports. It starts with the folder of the node, and long digests are cut. */
  shortened(path: string): string {
    const relativePath = path.startsWith(this.folder) ? relative(this.folder, path) : path
    return relativePath.replaceAll(/([0-9a-f]{12})[0-9a-f]{52}/g, '$1...')
  }

  can(rpc: NodeRpc): boolean {
    return this.all.every(({ driver }) => nodeCan(driver, rpc))
  }
}

/** Returns the CSI methods that all node services support, according to their capabilities. */
export function nodeMethods(nodes: OwnNodes): readonly string[] {
  if (nodes.all.length === 0) return []
  return [
    'NodePublishVolume',
    'NodeUnpublishVolume',
    ...(nodes.can(NodeRpc.STAGE_UNSTAGE_VOLUME) ? ['NodeStageVolume', 'NodeUnstageVolume'] : []),
    ...(nodes.can(NodeRpc.EXPAND_VOLUME) ? ['NodeExpandVolume'] : []),
  ]
}

/** Returns the features of the node services that the test leaves out, with reasons. */
export function nodeLacks(nodes: OwnNodes): readonly string[] {
  if (nodes.all.length === 0) {
    return ['staging and mounting: the node service is emulated, so that root is not needed; --node names sockets']
  }
  const unless = (rpc: NodeRpc, text: string): readonly string[] => (nodes.can(rpc) ? [] : [text])
  return [
    ...unless(NodeRpc.STAGE_UNSTAGE_VOLUME, 'staging: the driver lacks STAGE_UNSTAGE_VOLUME'),
    ...unless(NodeRpc.EXPAND_VOLUME, 'expansion on the node: the driver lacks EXPAND_VOLUME'),
    ...unless(NodeRpc.GET_VOLUME_STATS, 'how full volumes are: the driver lacks GET_VOLUME_STATS'),
  ]
}

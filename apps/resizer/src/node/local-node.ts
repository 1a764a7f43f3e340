import { abortable, type Clock } from '@csi-sidecars/base'
import { objectOf } from '@csi-sidecars/controller'
import type { InformerEvent } from '@csi-sidecars/informer'
import { CSI_NODE_MESSAGE, CSI_NODES, type KubeObject, NODE_MESSAGE, NODES } from '@csi-sidecars/kube-types'
import { type CacheRegistry, cacheOf } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ResizerNode } from './owner.ts'

/** Everything that the wait for this node's registration needs. */
export interface LocalNodeOptions {
  readonly caches: CacheRegistry
  readonly nodeName: string
  readonly driverName: string
  readonly clock: Clock
  readonly log: Logger
}

/** The time after which a missing Node or CSINode is logged. At nearly every start both exist, so nothing is logged. */
const BEFORE_LOG_MS = 2_000

/**
 * Watches the Node of this process and its CSINode. They decide which volumes this process owns. While the CSINode
 * lacks the driver, for example during a new registration, the last known state counts.
 */
export class LocalNodeWatch {
  readonly #options: LocalNodeOptions
  readonly #firstNode = Promise.withResolvers<void>()
  readonly #listeners = new Set<() => void>()
  #labels: ResizerNode['labels'] | undefined
  #registration: Pick<ResizerNode, 'nodeId' | 'topologyKeys'> | undefined
  #current: ResizerNode | undefined

  constructor(options: LocalNodeOptions) {
    this.#options = options
    const { caches, nodeName, driverName, clock } = options
    const one = { fieldSelector: `metadata.name=${nodeName}`, resyncMs: 0 }
    const nodes = caches.create({
      ...one,
      resource: NODES,
      message: NODE_MESSAGE,
      project: (node) => ({ ...identityOf(node), labels: node.metadata?.labels ?? {} }),
    })
    const csiNodes = caches.create({
      ...one,
      resource: CSI_NODES,
      message: CSI_NODE_MESSAGE,
      project: (csiNode) => {
        const driver = csiNode.spec?.drivers?.find(({ name }) => name === driverName)
        if (driver === undefined) return undefined
        return { ...identityOf(csiNode), nodeId: driver.nodeID ?? '', topologyKeys: driver.topologyKeys ?? [] }
      },
    })
    nodes.subscribe((event) => {
      this.#labels = presentOf(event)?.labels ?? this.#labels
      this.#update()
    })
    csiNodes.subscribe((event) => {
      this.#registration = presentOf(event) ?? this.#registration
      this.#update()
    })
    caches.add(cacheOf(`Node ${nodeName}`, nodes, clock))
    caches.add(cacheOf(`CSINode ${nodeName}`, csiNodes, clock))
  }

  /** The node of this process. Undefined until its CSINode lists the driver. */
  get current(): ResizerNode | undefined {
    return this.#current
  }

  /** Resolves when Node and CSINode were read. Logs one line after two seconds. */
  async whenKnown(signal: AbortSignal): Promise<void> {
    const { clock, log, nodeName, driverName } = this.#options
    const cancel = clock.schedule(BEFORE_LOG_MS, () => {
      if (this.#current !== undefined) return
      const missing = this.#labels === undefined ? 'the Node' : 'the driver in the CSINode'
      log.info('Waiting for the node of this process', { node: nodeName, driver: driverName, missing })
    })
    try {
      await abortable(this.#firstNode.promise, signal)
    } finally {
      cancel()
    }
  }

  /** Calls the listener at later changes of Node or CSINode. Returns the unsubscribe function. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #update(): void {
    if (this.#labels === undefined || this.#registration === undefined) return
    const before = this.#current
    const { nodeId, topologyKeys } = this.#registration
    const after = { name: this.#options.nodeName, labels: this.#labels, nodeId, topologyKeys }
    if (before !== undefined && textOf(before) === textOf(after)) return
    this.#current = after
    this.#firstNode.resolve()
    if (before === undefined) return
    this.#options.log.info('The node of this process has changed', { node: after.name })
    for (const listener of this.#listeners) listener()
  }
}

function identityOf({ metadata }: KubeObject) {
  return {
    key: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    resourceVersion: metadata?.resourceVersion ?? '',
  }
}

function presentOf<T>(event: InformerEvent<T>): T | undefined {
  return event.type === 'deleted' ? undefined : objectOf(event)
}

/** Returns the node as a text. Labels and keys are sorted, because their order in the API server's answers varies. */
function textOf({ labels, nodeId, topologyKeys }: ResizerNode): string {
  const sorted = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([sorted, nodeId, topologyKeys.toSorted()])
}

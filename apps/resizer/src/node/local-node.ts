import { abortable, type Clock } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import {
  CSI_NODE_MESSAGE,
  CSI_NODES,
  type CSINode,
  type MessageReader,
  NODE_MESSAGE,
  NODES,
  type Node,
  type Resource,
} from '@csi-sidecars/kube-types'
import type { Cache } from '@csi-sidecars/sidecar'
import type { Logger } from '@csi-sidecars/telemetry'
import { follow } from './follow.ts'
import type { LocalNode } from './owner.ts'

export interface LocalNodeOptions {
  readonly client: Pick<KubeClient, 'watch'>
  readonly nodeName: string
  readonly driverName: string
  readonly clock: Clock
  readonly log: Logger
}

/** Nearly always both objects are there at the start: only a longer wait is worth a line. */
const BEFORE_LOG_MS = 2_000

/**
 * Node and CSINode of this process, as far as it depends on them whose a volume is. While the driver is missing from the
 * CSINode, because the kubelet registers it again, the last state counts: its volumes have not moved.
 */
export class LocalNodeWatch {
  readonly caches: readonly Cache[]
  readonly #options: LocalNodeOptions
  readonly #known = Promise.withResolvers<void>()
  readonly #listeners = new Set<() => void>()
  #labels: LocalNode['labels'] | undefined
  #registration: Pick<LocalNode, 'nodeId' | 'topologyKeys'> | undefined
  #current: LocalNode | undefined

  constructor(options: LocalNodeOptions) {
    this.#options = options
    this.caches = [
      this.#cacheOf('Node', { resource: NODES, message: NODE_MESSAGE }, (node: Node) => {
        this.#labels = node.metadata?.labels ?? {}
      }),
      this.#cacheOf('CSINode', { resource: CSI_NODES, message: CSI_NODE_MESSAGE }, (csiNode: CSINode) => {
        const driver = (csiNode.spec?.drivers ?? []).find(({ name }) => name === options.driverName)
        if (driver !== undefined) {
          this.#registration = { nodeId: driver.nodeID ?? '', topologyKeys: driver.topologyKeys ?? [] }
        }
      }),
    ]
  }

  /** Undefined until the Node was read and its CSINode lists the driver. */
  get current(): LocalNode | undefined {
    return this.#current
  }

  /** Resolves when the node is known. Logs one line when that takes longer. */
  async whenKnown(signal: AbortSignal): Promise<void> {
    const { clock, log, nodeName, driverName } = this.#options
    const cancel = clock.schedule(BEFORE_LOG_MS, () => {
      if (this.#current !== undefined) return
      const missing = this.#labels === undefined ? 'the Node' : 'the driver in the CSINode'
      log.info('Waiting for the node of this process', { node: nodeName, driver: driverName, missing })
    })
    try {
      await abortable(this.#known.promise, signal)
    } finally {
      cancel()
    }
  }

  /** Calls the listener whenever the node has changed after it was known. Returns the undo. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #update(): void {
    if (this.#labels === undefined || this.#registration === undefined) return
    const before = this.#current
    const after = { name: this.#options.nodeName, labels: this.#labels, ...this.#registration }
    if (before !== undefined && isSame(before, after)) return
    this.#current = after
    this.#known.resolve()
    if (before === undefined) return
    this.#options.log.info('The node of this process has changed', { node: after.name })
    for (const listener of this.#listeners) listener()
  }

  #cacheOf<W>(
    name: string,
    kind: { readonly resource: Resource<W>; readonly message: MessageReader<W> },
    take: (object: W) => void,
  ): Cache {
    const { client, nodeName, clock, log } = this.#options
    let lastActivity = clock.monotonic()
    const isKnown = (): boolean => this.#current !== undefined
    const onActivity = (): void => {
      lastActivity = clock.monotonic()
    }
    const onState = (object: W): void => {
      take(object)
      this.#update()
    }
    return {
      name: `${name} ${nodeName}`,
      get synced() {
        return isKnown()
      },
      get silentForMs() {
        return clock.monotonic() - lastActivity
      },
      run: (signal) => follow({ ...kind, client, name: nodeName, clock, log, onState, onActivity }, signal),
    }
  }
}

function isSame(before: LocalNode, after: LocalNode): boolean {
  return textOf(before) === textOf(after)
}

/** Maps and keys in one order, whatever the order of the server's answer. */
function textOf({ labels, nodeId, topologyKeys }: LocalNode): string {
  const sorted = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([sorted, nodeId, topologyKeys.toSorted()])
}

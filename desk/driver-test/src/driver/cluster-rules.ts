import type { ProxiedCall } from '@csi-sidecars/disturb'
import { certain, type KnownVolume, type Tracker, text } from '../checks/tracker.ts'
import type { OwnNodes } from './nodes.ts'

/**
 * Checks that the cluster keeps the rules of CSI for callers of a node service. A violation is a fault of the cluster,
 * not of the driver.
 */
export class ClusterRules {
  readonly violations: string[] = []
  readonly #tracker: Tracker
  readonly #nodes: OwnNodes
  /** True if the driver has ControllerPublishVolume. */
  readonly #attaches: boolean

  constructor(tracker: Tracker, nodes: OwnNodes, attaches: boolean) {
    this.#tracker = tracker
    this.#nodes = nodes
    this.#attaches = attaches
  }

  /** Checks the start of a call. It must run before the tracker records the call. */
  see(call: ProxiedCall): void {
    const volume = this.#tracker.get(text(call.request['volumeId']))
    if (call.end !== undefined || volume === undefined || volume.inline) return
    const broken = this.#broken(call, volume)
    if (broken !== undefined) this.violations.push(`${call.method} of ${volume.id} was called ${broken}`)
  }

  #broken({ method, request }: ProxiedCall, volume: KnownVolume): string | undefined {
    const staging = text(request['stagingTargetPath'])
    const node = this.#nodes.at(staging || text(request['targetPath']))?.info.nodeId ?? ''
    switch (method) {
      case 'NodeStageVolume':
        return this.#unattached(volume, node)
      case 'NodePublishVolume':
        if (staging === '') return this.#unattached(volume, node)
        return volume.staged.get(staging) === 'yes' ? undefined : `while it is not staged on ${node}`
      case 'NodeUnstageVolume':
        return this.#published(volume, node).length > 0 ? `while it is published on ${node}` : undefined
      default:
        return undefined
    }
  }

  #unattached({ nodes }: KnownVolume, node: string): string | undefined {
    return this.#attaches && nodes.get(node) !== 'yes' ? `while it is not attached to ${node}` : undefined
  }

  #published({ published }: KnownVolume, node: string): readonly string[] {
    return certain(published).filter((path) => this.#nodes.at(path)?.info.nodeId === node)
  }
}

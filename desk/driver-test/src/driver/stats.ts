import { RpcError } from '@csi-sidecars/csi'
import {
  NodeGetVolumeStats,
  NodeServiceCapability_RPC_Type as NodeRpc,
  type VolumeUsage,
} from '@csi-sidecars/csi-proto'
import { codeNameOf } from '@csi-sidecars/disturb'
import { nodeCan } from '@csi-sidecars/volume-controllers'
import type { Violation } from '../checks/checks.ts'
import { RETRYABLE_CODES } from '../checks/repetition.ts'
import { certain, type KnownVolume, type Tracker } from '../checks/tracker.ts'
import type { OwnNodes } from './nodes.ts'

const STATS_MS = 10_000
/** After this number of failures in a row for one mount the test reports a finding. */
const FAILURES = 2

/** Calls NodeGetVolumeStats as a kubelet does. Each check asks about the next mounted volume. */
export class UsageLooks {
  readonly #tracker: Tracker
  readonly #nodes: OwnNodes
  readonly #failures = new Map<string, number>()
  #turn = 0

  constructor(tracker: Tracker, nodes: OwnNodes) {
    this.#tracker = tracker
    this.#nodes = nodes
  }

  async check(signal: AbortSignal): Promise<readonly Violation[]> {
    const mounts = this.#tracker.volumes.flatMap((volume) => quietMounts(volume))
    const mount = mounts[this.#turn % Math.max(1, mounts.length)]
    this.#turn += 1
    if (mount === undefined) return []
    const { volume, path } = mount
    const { changed } = volume
    const wrong = await this.#ask(mount, signal)
    // The answer is ignored if another call about the volume ran at the same time.
    if (volume.changed !== changed) return []
    const failures = wrong === undefined ? 0 : (this.#failures.get(path) ?? 0) + 1
    this.#failures.set(path, failures)
    if (failures !== FAILURES) return []
    const at = this.#nodes.shortened(path)
    return [{ check: 'usage', subjectId: volume.id, text: `NodeGetVolumeStats of ${volume.id} at ${at} ${wrong}` }]
  }

  async #ask({ volume, path }: Mount, signal: AbortSignal): Promise<string | undefined> {
    const node = this.#nodes.at(path)
    if (node === undefined || !nodeCan(node.driver, NodeRpc.GET_VOLUME_STATS)) return undefined
    const staged = certain(volume.staged).find((each) => this.#nodes.at(each) === node)
    const request = { volumeId: volume.id, volumePath: path, stagingTargetPath: staged ?? '' }
    try {
      const { usage } = await node.driver.call(NodeGetVolumeStats, request, { timeoutMs: STATS_MS, signal })
      return usage.map(wrongUsage).find((each) => each !== undefined)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof RpcError)) throw error
      return RETRYABLE_CODES.has(error.code)
        ? undefined
        : `failed: ${codeNameOf(error.code)} ${JSON.stringify(error.details)}`
    }
  }
}

interface Mount {
  readonly volume: KnownVolume
  readonly path: string
}

/** Returns the mounts of a volume, or none while a call for it runs. Block devices are left out: they have no usage. */
function quietMounts(volume: KnownVolume): readonly Mount[] {
  if (volume.busy > 0 || volume.block) return []
  return certain(volume.published).map((path) => ({ volume, path }))
}

function wrongUsage({ total, used, available }: VolumeUsage): string | undefined {
  if (total < 0n || used < 0n || available < 0n) return 'answered with less than nothing'
  return total > 0n && used > total ? `answered with ${used} used of ${total}` : undefined
}

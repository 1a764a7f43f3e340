import type { TopologyRequirement } from '@csi-sidecars/csi-proto'

interface Pin {
  readonly node: string
  readonly classUid: string
  readonly requirement: TopologyRequirement | undefined
}

interface PinnedTry {
  readonly node: string
  readonly classUid: string
  /** The driver may still be working on the request. */
  readonly inProgress: boolean
}

/**
 * The requirements of claims from their first try to the answer of the driver. A creation may be running, so a repeated
 * request must be the same even if nodes have changed.
 */
export class Pins {
  readonly #pins = new Map<string, Pin>()

  /** The pinned requirement, else the one that `compute` finds. */
  requirement(
    uid: string,
    { node, classUid, inProgress }: PinnedTry,
    compute: () => TopologyRequirement | undefined,
  ): TopologyRequirement | undefined {
    const pin = this.#pins.get(uid)
    if (pin !== undefined && (inProgress || (pin.node === node && pin.classUid === classUid))) return pin.requirement
    const requirement = compute()
    this.#pins.set(uid, { node, classUid, requirement })
    return requirement
  }

  release(uid: string): void {
    this.#pins.delete(uid)
  }
}

import type { TopologyRequirement } from '@csi-sidecars/csi-proto'

interface Pin {
  readonly node: string
  /** The class and its allowed topologies. */
  readonly ofClass: string
  readonly requirement: TopologyRequirement | undefined
}

interface PinnedTry {
  readonly node: string
  readonly ofClass: string
  /** True if the driver may still be working on an earlier CreateVolume call. */
  readonly inProgress: boolean
}

/**
 * The topology requirements of claims, kept from the first CreateVolume call until the creation has ended. A repeated
 * call must equal the first call, even if nodes have changed.
 */
export class Pins {
  readonly #pins = new Map<string, Pin>()

  /** Returns the kept requirement of the claim. If there is none, computes and keeps a new requirement. */
  requirement(
    uid: string,
    { node, ofClass, inProgress }: PinnedTry,
    compute: () => TopologyRequirement | undefined,
  ): TopologyRequirement | undefined {
    const pin = this.#pins.get(uid)
    if (pin !== undefined && (inProgress || (pin.node === node && pin.ofClass === ofClass))) return pin.requirement
    const requirement = compute()
    this.#pins.set(uid, { node, ofClass, requirement })
    return requirement
  }

  release(uid: string): void {
    this.#pins.delete(uid)
  }
}

import { between, type Choice, pick, type Random, seeded, weighted } from '@csi-sidecars/disturb'
import type { ApiFault, ChaosAction, DriverCan } from './action.ts'
import { FaultDeck } from './call-faults.ts'

export interface PlannedAction {
  /** The pause after the previous action. */
  readonly afterMs: number
  readonly action: ChaosAction
}

export interface PlanOptions {
  readonly seed: number
  readonly durationMs: number
  readonly nodes: readonly string[]
  readonly can: DriverCan
}

const MOST_INLINE = 3
const MOST_CLAIMS = 6
const MOST_PODS_SHARED = 3
/** The limits of the pause between two actions in milliseconds. The driver can work in these pauses. */
const PAUSE_MS = { least: 20, most: 400 }
const FAULTS = [
  'conflict',
  'tooMany',
  'internal',
  'lostAnswer',
  'slow',
  'dropWatches',
  'compact',
  'away',
] as const satisfies readonly ApiFault[]

/** Returns the actions of a run. They depend only on the options, so the same seed gives the same actions. */
export function planOf(options: PlanOptions): readonly PlannedAction[] {
  const random = seeded(options.seed)
  const planner = new Planner(random, options)
  // All faults are injected at the start. Each waits for a call of its method, and some methods are called rarely.
  const actions = planner.firstFaults().map((action): PlannedAction => ({ afterMs: 0, action }))
  const { least, most } = PAUSE_MS
  for (let at = 0; ; ) {
    const afterMs = between(random, least, most)
    at += afterMs
    if (at > options.durationMs) return actions
    for (const [before, action] of planner.next().entries())
      actions.push({ afterMs: before === 0 ? afterMs : 0, action })
  }
}

interface PlannedClaim {
  readonly name: string
  readonly shared: boolean
  readonly block: boolean
  readonly zone: number | undefined
  /** True if a clone of the claim was requested: the cloning may happen at any time, so the claim must not change. */
  pinned: boolean
  size: number
  /** The index of the last requested VolumeAttributesClass. */
  attributes?: number
  readonly pods: Set<string>
}

/** Chooses each action by the earlier actions, but not by their results, so that a plan needs no cluster. */
class Planner {
  readonly #random: Random
  readonly #options: PlanOptions
  readonly #claims = new Map<string, PlannedClaim>()
  readonly #podClaims = new Map<string, PlannedClaim>()
  readonly #inlinePods = new Set<string>()
  readonly #faults: FaultDeck
  #made = 0

  constructor(random: Random, options: PlanOptions) {
    this.#random = random
    this.#options = options
    this.#faults = new FaultDeck(random, options.can.methods, { kills: options.can.crash })
  }

  firstFaults(): readonly ChaosAction[] {
    return this.#faults.dealAll().map((planned) => ({ do: 'breakCall', ...planned }))
  }

  /** Returns the next actions, which happen at the same moment. */
  next(): readonly ChaosAction[] {
    const action = weighted(this.#random, this.#choices()) ?? this.#createClaim()
    return action.do === 'modifyClaim' ? [action, ...this.#expandMeanwhile(action.claim)] : [action]
  }

  /** Expands a claim that is being modified. A claim of size 1 stays as it is, because it may still be cloned. */
  #expandMeanwhile(name: string): readonly ChaosAction[] {
    const claim = this.#claims.get(name)
    if (claim === undefined || claim.size === 1) return []
    claim.size += 1
    return [{ do: 'resizeClaim', claim: name, size: claim.size }]
  }

  #choices(): readonly Choice<ChaosAction>[] {
    const { can } = this.#options
    return [
      { weight: this.#claims.size < MOST_CLAIMS ? 18 : 0, make: () => this.#createClaim() },
      { weight: 24, make: () => this.#createPod() },
      { weight: can.inline === true ? 6 : 0, make: () => this.#createInlinePod() },
      { weight: 14, make: () => this.#deletePod() },
      { weight: 14, make: () => this.#movePod() },
      { weight: can.expand ? 9 : 0, make: () => this.#resizeClaim() },
      { weight: can.attributes === undefined ? 0 : 18, make: () => this.#modifyClaim() },
      { weight: 5, make: () => this.#deleteClaim() },
      { weight: 4, make: () => this.#disturb('restartController') },
      { weight: can.crash ? 2 : 0, make: () => ({ do: 'crashDriver', forMs: between(this.#random, 20, 1500) }) },
      { weight: 2, make: () => ({ do: 'breakApi', how: pick(this.#random, FAULTS) }) },
      { weight: 2, make: () => this.#disturb('killSidecar') },
      { weight: 60, make: () => this.#breakCall() },
    ]
  }

  #breakCall(): ChaosAction | undefined {
    const planned = this.#faults.deal()
    return planned && { do: 'breakCall', ...planned }
  }

  #name(prefix: string): string {
    this.#made += 1
    return `${prefix}-${this.#made}`
  }

  #createClaim(): ChaosAction {
    const { can } = this.#options
    // Only a claim that was never expanded is cloned, because a clone needs the exact size of its source.
    const source = can.clone === true && this.#random() < 0.4 ? this.#pickClaim(({ size }) => size === 1) : undefined
    const { shared, block, zone } = source ?? this.#kind()
    const name = this.#name('claim')
    const claim = { name, shared, block, zone, pinned: false, size: 1, pods: new Set<string>() }
    this.#claims.set(claim.name, claim)
    if (source !== undefined) source.pinned = true
    return {
      do: 'createClaim',
      claim: name,
      size: claim.size,
      shared,
      ...(block && { block }),
      ...(source !== undefined && { from: source.name }),
      ...(zone !== undefined && { zone }),
    }
  }

  #kind(): Pick<PlannedClaim, 'shared' | 'block' | 'zone'> {
    const { can } = this.#options
    const shared = this.#random() < 0.25 && can.shared
    const block = can.block && this.#random() < 0.25
    const zones = can.zones ?? []
    return { shared, block, zone: zones.length === 0 ? undefined : between(this.#random, 0, zones.length - 1) }
  }

  #pickClaim(fits: (claim: PlannedClaim) => boolean): PlannedClaim | undefined {
    return pick(this.#random, [...this.#claims.values()].filter(fits))
  }

  #nodesFor({ zone }: PlannedClaim): readonly string[] {
    const { nodes, can } = this.#options
    return zone === undefined ? nodes : (can.zones?.[zone]?.nodes ?? nodes)
  }

  #createInlinePod(): ChaosAction | undefined {
    const node = pick(this.#random, this.#options.nodes)
    if (node === undefined || this.#inlinePods.size >= MOST_INLINE) return undefined
    const pod = this.#name('pod')
    this.#inlinePods.add(pod)
    return { do: 'createInlinePod', pod, node }
  }

  #createPod(): ChaosAction | undefined {
    const most = ({ shared }: PlannedClaim): number => (shared ? MOST_PODS_SHARED : 1)
    const claim = this.#pickClaim((each) => each.pods.size < most(each))
    const node = claim && pick(this.#random, this.#nodesFor(claim))
    if (claim === undefined || node === undefined) return undefined
    const pod = this.#addPod(claim)
    return { do: 'createPod', pod, node, claim: claim.name }
  }

  #addPod(claim: PlannedClaim): string {
    const pod = this.#name('pod')
    claim.pods.add(pod)
    this.#podClaims.set(pod, claim)
    return pod
  }

  #removePod(pod: string): void {
    this.#podClaims.get(pod)?.pods.delete(pod)
    this.#podClaims.delete(pod)
    this.#inlinePods.delete(pod)
  }

  #deletePod(): ChaosAction | undefined {
    const pod = pick(this.#random, [...this.#podClaims.keys(), ...this.#inlinePods])
    if (pod === undefined) return undefined
    this.#removePod(pod)
    return { do: 'deletePod', pod }
  }

  #movePod(): ChaosAction | undefined {
    // A pod whose claim was deleted cannot be moved, because its successor could not use the claim.
    const movable = [...this.#podClaims].filter(([, { name }]) => this.#claims.has(name))
    const [pod, claim] = pick(this.#random, movable) ?? []
    const node = claim && pick(this.#random, this.#nodesFor(claim))
    if (pod === undefined || claim === undefined || node === undefined) return undefined
    this.#removePod(pod)
    return { do: 'movePod', pod, to: this.#addPod(claim), node, claim: claim.name }
  }

  #resizeClaim(): ChaosAction | undefined {
    const claim = this.#pickClaim(({ pinned }) => !pinned)
    if (claim === undefined) return undefined
    claim.size += between(this.#random, 1, 3)
    return { do: 'resizeClaim', claim: claim.name, size: claim.size }
  }

  /** Modifies a claim. Every fourth modification names a class that the driver must refuse. */
  #modifyClaim(): ChaosAction | undefined {
    const claim = this.#pickClaim(({ pinned }) => !pinned)
    const { length } = this.#options.can.attributes ?? []
    if (claim === undefined) return undefined
    const others = Array.from({ length }, (_, index) => index).filter((index) => index !== claim.attributes)
    const to = this.#random() < 0.25 ? length : (pick(this.#random, others) ?? length)
    claim.attributes = to
    return { do: 'modifyClaim', claim: claim.name, to }
  }

  /** Deletes a claim but not its pods, so that the deletion has to wait for the pods. */
  #deleteClaim(): ChaosAction | undefined {
    const claim = this.#pickClaim(({ pinned }) => !pinned)
    if (claim === undefined) return undefined
    this.#claims.delete(claim.name)
    return { do: 'deleteClaim', claim: claim.name }
  }

  #disturb(does: 'restartController' | 'killSidecar'): ChaosAction {
    return { do: does, which: between(this.#random, 0, 999) }
  }
}

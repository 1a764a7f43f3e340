import {
  between,
  type Choice,
  inOrder,
  type Plan,
  type PlannedStep,
  pick,
  type Random,
  seeded,
  weighted,
} from '@csi-sidecars/disturb'
import type { ApiFault, ChaosAction, DriverCan } from './action.ts'
import { FaultDeck, SNAPSHOT_METHODS } from './call-faults.ts'

/** The inputs of a plan. Equal inputs give the same plan. */
export interface PlanOptions {
  readonly seed: number
  readonly durationMs: number
  readonly nodes: readonly string[]
  readonly can: DriverCan
}

const MAX_INLINE = 3
const MAX_CLAIMS = 6
const MAX_PODS_SHARED = 3
/** The limits of the pause between two actions in milliseconds. The driver can work in these pauses. */
const PAUSE_MS = { least: 20, most: 400 }
const SNAPSHOT_PAUSE_MS = { least: 200, most: 1_000 }
/** The limits of the time until a snapshot is restored or deleted. In the short time it is often not ready yet. */
const SNAPSHOT_LIVES_MS = [200, 1_500] as const
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
export function planOf(options: PlanOptions): Plan<ChaosAction> {
  const volumes = volumeActions(options)
  return inOrder([...volumes, ...(options.can.snapshots === true ? snapshotActions(volumes, options) : [])])
}

function volumeActions(options: PlanOptions): readonly PlannedStep<ChaosAction>[] {
  const random = seeded(options.seed)
  const faults = new FaultDeck(random, options.can.methods, { kills: options.can.crash })
  const planner = new Planner(random, faults, options)
  // All faults are injected at the start. Each waits for a call of its method, and some methods are called rarely.
  const actions = faults.dealAll().map((step): PlannedStep<ChaosAction> => ({ atMs: 0, step }))
  const { least, most } = PAUSE_MS
  for (let at = 0; ; ) {
    at += between(random, least, most)
    if (at > options.durationMs) return actions
    for (const step of planner.next()) actions.push({ atMs: at, step })
  }
}

/**
 * Returns actions with snapshots of the planned claims. They have a random sequence of their own, so that the actions
 * with volumes are the same for a driver without snapshots.
 */
function snapshotActions(
  volumes: readonly PlannedStep<ChaosAction>[],
  options: PlanOptions,
): readonly PlannedStep<ChaosAction>[] {
  const random = seeded(options.seed, 'snapshots')
  const faults = new FaultDeck(random, SNAPSHOT_METHODS)
  const sources = sourcesOf(volumes)
  const actions = faults.dealAll().map((step): PlannedStep<ChaosAction> => ({ atMs: 0, step }))
  const { least, most } = SNAPSHOT_PAUSE_MS
  for (let at = between(random, least, most), made = 1; at <= options.durationMs; at += between(random, least, most)) {
    const add = (atMs: number, step: ChaosAction | undefined): void => {
      if (step !== undefined) actions.push({ atMs, step })
    }
    add(at, faults.deal())
    const living = sources.filter(({ since, until = Number.POSITIVE_INFINITY }) => since <= at && at < until)
    const { created, size, until } = pick(random, living) ?? {}
    if (created === undefined || size === undefined) continue
    const [snapshot, claim, pod] = [`snapshot-${made}`, `restored-${made}`, `restored-pod-${made}`]
    made += 1
    add(at, { kind: 'createSnapshot', snapshot, claim: created.claim })
    const deletedAt = Math.min(options.durationMs, at + between(random, 0, pick(random, SNAPSHOT_LIVES_MS)))
    // A snapshot that is restored stays, because a claim that names a deleted snapshot would wait forever.
    if (until !== undefined || random() < 0.5) {
      add(deletedAt, { kind: 'deleteSnapshot', snapshot })
      continue
    }
    add(deletedAt, { ...created, claim, size, from: snapshot, restores: true })
    const node = random() < 0.5 ? pick(random, nodesFor(created, options)) : undefined
    add(deletedAt, node === undefined ? undefined : { kind: 'createPod', pod, node, claim })
  }
  return actions
}

/** Returns each planned claim with the times of its creation and deletion, and with its largest size. */
function sourcesOf(volumes: readonly PlannedStep<ChaosAction>[]) {
  return volumes.flatMap(({ atMs: since, step: created }) => {
    if (created.kind !== 'createClaim') return []
    const stepsOfClaim = volumes.filter(({ step }) => 'claim' in step && step.claim === created.claim)
    const until = stepsOfClaim.find(({ step }) => step.kind === 'deleteClaim')?.atMs
    const size = Math.max(...stepsOfClaim.map(({ step }) => ('size' in step ? step.size : 0)))
    return [{ created, since, until, size }]
  })
}

/** Returns the nodes that can use a volume of the zone. */
function nodesFor({ zone }: { readonly zone?: number | undefined }, { nodes, can }: PlanOptions): readonly string[] {
  return zone === undefined ? nodes : (can.zones?.[zone]?.nodes ?? nodes)
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

  constructor(random: Random, faults: FaultDeck, options: PlanOptions) {
    this.#random = random
    this.#faults = faults
    this.#options = options
  }

  /** Returns the next actions, which happen at the same moment. */
  next(): readonly ChaosAction[] {
    const action = weighted(this.#random, this.#choices()) ?? this.#createClaim()
    return action.kind === 'modifyClaim' ? [action, ...this.#expandMeanwhile(action.claim)] : [action]
  }

  /** Expands a claim that is being modified. A claim of size 1 stays as it is, because it may still be cloned. */
  #expandMeanwhile(name: string): readonly ChaosAction[] {
    const claim = this.#claims.get(name)
    if (claim === undefined || claim.size === 1) return []
    claim.size += 1
    return [{ kind: 'resizeClaim', claim: name, size: claim.size }]
  }

  #choices(): readonly Choice<ChaosAction>[] {
    const { can } = this.#options
    return [
      { weight: this.#claims.size < MAX_CLAIMS ? 18 : 0, make: () => this.#createClaim() },
      { weight: 24, make: () => this.#createPod() },
      { weight: can.inline === true ? 6 : 0, make: () => this.#createInlinePod() },
      { weight: 14, make: () => this.#deletePod() },
      { weight: 14, make: () => this.#movePod() },
      { weight: can.expand ? 9 : 0, make: () => this.#resizeClaim() },
      { weight: can.attributes === undefined ? 0 : 18, make: () => this.#modifyClaim() },
      { weight: 5, make: () => this.#deleteClaim() },
      { weight: 4, make: () => this.#disturb('restartController') },
      { weight: can.crash ? 2 : 0, make: () => ({ kind: 'crashDriver', forMs: between(this.#random, 20, 1500) }) },
      { weight: 2, make: () => ({ kind: 'breakApi', how: pick(this.#random, FAULTS) }) },
      { weight: 2, make: () => this.#disturb('killSidecar') },
      { weight: 60, make: () => this.#faults.deal() },
    ]
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
      kind: 'createClaim',
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

  #createInlinePod(): ChaosAction | undefined {
    const node = pick(this.#random, this.#options.nodes)
    if (node === undefined || this.#inlinePods.size >= MAX_INLINE) return undefined
    const pod = this.#name('pod')
    this.#inlinePods.add(pod)
    return { kind: 'createInlinePod', pod, node }
  }

  #createPod(): ChaosAction | undefined {
    const most = ({ shared }: PlannedClaim): number => (shared ? MAX_PODS_SHARED : 1)
    const claim = this.#pickClaim((each) => each.pods.size < most(each))
    const node = claim && pick(this.#random, nodesFor(claim, this.#options))
    if (claim === undefined || node === undefined) return undefined
    const pod = this.#addPod(claim)
    return { kind: 'createPod', pod, node, claim: claim.name }
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
    return { kind: 'deletePod', pod }
  }

  #movePod(): ChaosAction | undefined {
    // A pod whose claim was deleted cannot be moved, because its successor could not use the claim.
    const movable = [...this.#podClaims].filter(([, { name }]) => this.#claims.has(name))
    const [pod, claim] = pick(this.#random, movable) ?? []
    const node = claim && pick(this.#random, nodesFor(claim, this.#options))
    if (pod === undefined || claim === undefined || node === undefined) return undefined
    this.#removePod(pod)
    return { kind: 'movePod', pod, to: this.#addPod(claim), node, claim: claim.name }
  }

  #resizeClaim(): ChaosAction | undefined {
    const claim = this.#pickClaim(({ pinned }) => !pinned)
    if (claim === undefined) return undefined
    claim.size += between(this.#random, 1, 3)
    return { kind: 'resizeClaim', claim: claim.name, size: claim.size }
  }

  /** Modifies a claim. Every fourth modification names a class that the driver must refuse. */
  #modifyClaim(): ChaosAction | undefined {
    const claim = this.#pickClaim(({ pinned }) => !pinned)
    const { length } = this.#options.can.attributes ?? []
    if (claim === undefined) return undefined
    const others = Array.from({ length }, (_, index) => index).filter((index) => index !== claim.attributes)
    const to = this.#random() < 0.25 ? length : (pick(this.#random, others) ?? length)
    claim.attributes = to
    return { kind: 'modifyClaim', claim: claim.name, to }
  }

  /** Deletes a claim but not its pods, so that the deletion has to wait for the pods. */
  #deleteClaim(): ChaosAction | undefined {
    const claim = this.#pickClaim(({ pinned }) => !pinned)
    if (claim === undefined) return undefined
    this.#claims.delete(claim.name)
    return { kind: 'deleteClaim', claim: claim.name }
  }

  #disturb(does: 'restartController' | 'killSidecar'): ChaosAction {
    return { kind: does, which: between(this.#random, 0, 999) }
  }
}

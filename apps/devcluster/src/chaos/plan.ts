import { between, pick, type Random, seeded } from './random.ts'

/** One thing that happens to the cluster. */
export type Action =
  | { readonly do: 'createClaim'; readonly claim: string; readonly size: number; readonly shared: boolean }
  | { readonly do: 'createPod'; readonly pod: string; readonly node: string; readonly claim: string }
  | { readonly do: 'deletePod'; readonly pod: string }
  /** The old one goes and the new one comes without waiting for it, as a deployment does. */
  | { readonly do: 'movePod'; readonly pod: string; readonly to: string; readonly node: string; readonly claim: string }
  | { readonly do: 'resizeClaim'; readonly claim: string; readonly size: number }
  | { readonly do: 'deleteClaim'; readonly claim: string }
  | { readonly do: 'crashDriver'; readonly forMs: number }
  | { readonly do: 'breakApi'; readonly how: ApiFault }
  | { readonly do: 'restartController'; readonly which: number }
  | { readonly do: 'killSidecar'; readonly which: number }

export type ApiFault = 'conflict' | 'tooMany' | 'internal' | 'lostAnswer' | 'slow' | 'dropWatches' | 'compact'

export interface PlannedAction {
  /** Since the one before. */
  readonly afterMs: number
  readonly action: Action
}

export interface PlanOptions {
  readonly seed: number
  readonly durationMs: number
  readonly nodes: readonly string[]
  /** `restarts`: nothing breaks but the controllers, so that nothing may be done twice either. */
  readonly profile: 'all' | 'restarts'
}

const MOST_CLAIMS = 12
const MOST_PODS_SHARED = 3
const PAUSE_MS = { least: 5, most: 250 }
const FAULTS: readonly ApiFault[] = ['conflict', 'tooMany', 'internal', 'lostAnswer', 'slow', 'dropWatches', 'compact']

/** Everything that will happen, from the seed alone: the same seed gives the same sequence. */
export function planOf(options: PlanOptions): readonly PlannedAction[] {
  const random = seeded(options.seed)
  const planner = new Planner(random, options)
  const actions: PlannedAction[] = []
  for (let at = 0; ; ) {
    const afterMs = between(random, PAUSE_MS.least, PAUSE_MS.most)
    at += afterMs
    if (at > options.durationMs) return actions
    actions.push({ afterMs, action: planner.next() })
  }
}

interface PlannedClaim {
  readonly name: string
  readonly shared: boolean
  size: number
  readonly pods: Set<string>
}

/** Knows what was asked for, not what has become of it: so a plan needs no cluster. */
class Planner {
  readonly #random: Random
  readonly #options: PlanOptions
  readonly #claims = new Map<string, PlannedClaim>()
  readonly #podClaims = new Map<string, PlannedClaim>()
  #made = 0

  constructor(random: Random, options: PlanOptions) {
    this.#random = random
    this.#options = options
  }

  next(): Action {
    const choices = this.#choices()
    const total = choices.reduce((sum, { weight }) => sum + weight, 0)
    let left = this.#random() * total
    for (const { weight, make } of choices) {
      left -= weight
      if (left >= 0) continue
      const action = make()
      if (action !== undefined) return action
    }
    return this.#createClaim()
  }

  #choices(): readonly { readonly weight: number; readonly make: () => Action | undefined }[] {
    const restart = { weight: 4, make: () => this.#disturb('restartController') }
    const use = [
      { weight: this.#claims.size < MOST_CLAIMS ? 18 : 0, make: () => this.#createClaim() },
      { weight: 24, make: () => this.#createPod() },
      { weight: 14, make: () => this.#deletePod() },
      { weight: 14, make: () => this.#movePod() },
      { weight: 9, make: () => this.#resizeClaim() },
      { weight: 5, make: () => this.#deleteClaim() },
      restart,
    ]
    if (this.#options.profile === 'restarts') return use
    return [
      ...use,
      { weight: 2, make: () => ({ do: 'crashDriver' as const, forMs: between(this.#random, 20, 1500) }) },
      { weight: 7, make: () => this.#breakApi() },
      { weight: 2, make: () => this.#disturb('killSidecar') },
    ]
  }

  #name(prefix: string): string {
    this.#made += 1
    return `${prefix}-${this.#made}`
  }

  #createClaim(): Action {
    const claim = { name: this.#name('claim'), shared: this.#random() < 0.25, size: 1, pods: new Set<string>() }
    this.#claims.set(claim.name, claim)
    return { do: 'createClaim', claim: claim.name, size: claim.size, shared: claim.shared }
  }

  #createPod(): Action | undefined {
    const most = ({ shared }: PlannedClaim): number => (shared ? MOST_PODS_SHARED : 1)
    const claim = pick(
      this.#random,
      [...this.#claims.values()].filter((each) => each.pods.size < most(each)),
    )
    const node = pick(this.#random, this.#options.nodes)
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
  }

  #deletePod(): Action | undefined {
    const pod = pick(this.#random, [...this.#podClaims.keys()])
    if (pod === undefined) return undefined
    this.#removePod(pod)
    return { do: 'deletePod', pod }
  }

  #movePod(): Action | undefined {
    // A claim that is being deleted takes no new pod.
    const movable = [...this.#podClaims].filter(([, { name }]) => this.#claims.has(name))
    const [pod, claim] = pick(this.#random, movable) ?? []
    const node = pick(this.#random, this.#options.nodes)
    if (pod === undefined || claim === undefined || node === undefined) return undefined
    this.#removePod(pod)
    return { do: 'movePod', pod, to: this.#addPod(claim), node, claim: claim.name }
  }

  #resizeClaim(): Action | undefined {
    const claim = pick(this.#random, [...this.#claims.values()])
    if (claim === undefined) return undefined
    claim.size += between(this.#random, 1, 3)
    return { do: 'resizeClaim', claim: claim.name, size: claim.size }
  }

  /** Its pods stay: the claim has to wait for them. */
  #deleteClaim(): Action | undefined {
    const claim = pick(this.#random, [...this.#claims.keys()])
    if (claim === undefined) return undefined
    this.#claims.delete(claim)
    return { do: 'deleteClaim', claim }
  }

  #breakApi(): Action {
    return { do: 'breakApi', how: pick(this.#random, FAULTS) ?? 'conflict' }
  }

  #disturb(does: 'restartController' | 'killSidecar'): Action {
    return { do: does, which: between(this.#random, 0, 999) }
  }
}

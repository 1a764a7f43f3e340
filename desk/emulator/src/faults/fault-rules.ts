import type { Clock } from '@csi-sidecars/base'

/** A rule that replaces or delays the answers to some requests. */
export interface FaultRuleFor<Match, Action> {
  readonly name?: string
  /** The fields that a request must have, with their values. Without `match`, the rule applies to each request. */
  readonly match?: Match
  /** The number of matching requests that the rule ignores at first. Default: 0. */
  readonly skip?: number
  /** The number of requests to which the rule applies. Default: no limit. */
  readonly times?: number
  /** The probability that the rule applies, from 0 to 1. Default: 1. */
  readonly share?: number
  readonly action: Action
}

/** A rule that was added. It applies until it is removed or used up. */
export interface ActiveRule {
  /** How often the rule has applied. */
  readonly hits: number
  remove(): void
}

/** A pause of all matching requests, which take effect only after a call of `release`. */
export interface Hold {
  /** Resolves when the first matching request has arrived. */
  readonly arrived: Promise<void>
  readonly waiting: number
  /** Ends the pause: waiting requests continue, and later requests do not wait. */
  release(): void
}

interface State<Match, Action> {
  readonly rule: FaultRuleFor<Match, Action>
  seen: number
  hits: number
}

/** The faults of one server. The first rule that applies decides, in the order in which the rules were added. */
export class FaultRules<Subject extends object, Match extends object, Action> {
  readonly #clock: Clock
  readonly #fits: (subject: Subject, match: Match) => boolean
  readonly #rules: State<Match, Action>[] = []
  readonly #holds: { readonly match: Match; enter(): Promise<void> }[] = []

  constructor(
    clock: Clock,
    fits: (subject: Subject, match: Match) => boolean,
    rules: readonly FaultRuleFor<Match, Action>[] = [],
  ) {
    this.#clock = clock
    this.#fits = fits
    for (const rule of rules) this.add(rule)
  }

  add(rule: FaultRuleFor<Match, Action>): ActiveRule {
    const state = { rule, seen: 0, hits: 0 }
    this.#rules.push(state)
    return {
      get hits() {
        return state.hits
      },
      remove: () => {
        const index = this.#rules.indexOf(state)
        if (index >= 0) this.#rules.splice(index, 1)
      },
    }
  }

  clear(): void {
    this.#rules.length = 0
  }

  hold(match: Match): Hold {
    const arrived = Promise.withResolvers<void>()
    const open = Promise.withResolvers<void>()
    let waiting = 0
    const hold = {
      match,
      enter: async () => {
        waiting += 1
        arrived.resolve()
        await open.promise
        waiting -= 1
      },
    }
    this.#holds.push(hold)
    return {
      arrived: arrived.promise,
      get waiting() {
        return waiting
      },
      release: () => {
        const index = this.#holds.indexOf(hold)
        if (index >= 0) this.#holds.splice(index, 1)
        open.resolve()
      },
    }
  }

  /** Waits until each `Hold` that matches the request is released. */
  async awaitHold(subject: Subject): Promise<void> {
    for (const hold of [...this.#holds]) {
      if (this.#fits(subject, hold.match)) await hold.enter()
    }
  }

  /** Returns the action of the first rule that applies. Counts the request in each matching rule up to that rule. */
  match(subject: Subject): Action | undefined {
    for (const state of this.#rules) {
      const { match, skip = 0, times = Infinity, share = 1, action } = state.rule
      if (match !== undefined && !this.#fits(subject, match)) continue
      state.seen += 1
      if (state.seen <= skip || state.hits >= times) continue
      if (share < 1 && this.#clock.random() >= share) continue
      state.hits += 1
      return action
    }
    return undefined
  }
}

/** Reports whether each field that `match` sets has the same value in `subject`. */
export function sameFields<Subject extends object>(subject: Subject, match: Partial<Subject>): boolean {
  return Object.entries(match).every(([key, value]) => value === undefined || subject[key as keyof Subject] === value)
}

import { between, type CallFault, type Random } from '@csi-sidecars/disturb'

const DELAY_MS = { least: 50, most: 1_500 }
const LATE_MS = { least: 200, most: 1_500 }

/** The method whose calls are repeated later. A late repetition of other methods would do harm. */
export const LATE_METHOD = 'ControllerUnpublishVolume'

/** A killed driver must still know the effects of these calls. */
const KILLED_AFTER = ['ControllerPublishVolume', 'NodeStageVolume']

/** The cleanup: each is called for everything that was created, when all of it is deleted. */
const UNDOING = ['NodeUnpublishVolume', 'NodeUnstageVolume', 'ControllerUnpublishVolume', 'DeleteVolume']

/** The faults of calls that remain when nothing else disturbs: a driver must accept them at any time. */
export function lastFaults(methods: readonly string[]): readonly PlannedFault[] {
  return UNDOING.filter((method) => methods.includes(method)).map((method) => ({ method, fault: { do: 'repeat' } }))
}

/** A fault and the call that it affects. */
export interface PlannedFault {
  readonly method: string
  readonly fault: CallFault
}

/** Deals every fault of every method once, in an order of chance, before any of them again. */
export class FaultDeck {
  readonly #random: Random
  readonly #methods: readonly string[]
  readonly #kills: boolean
  #left: PlannedFault[] = []

  /** `kills`: the driver may be killed. */
  constructor(random: Random, methods: readonly string[], { kills = false } = {}) {
    this.#random = random
    this.#methods = methods
    this.#kills = kills
  }

  /** All that is left of this round; first the kills, which have to come while there is work. */
  dealAll(): readonly PlannedFault[] {
    const dealt: PlannedFault[] = []
    do {
      const next = this.deal()
      if (next !== undefined) dealt.push(next)
    } while (this.#left.length > 0)
    const isKill = ({ fault }: PlannedFault): boolean => fault.do === 'kill'
    return [...dealt.filter(isKill), ...dealt.filter((each) => !isKill(each))]
  }

  deal(): PlannedFault | undefined {
    if (this.#left.length === 0) this.#left = this.#methods.flatMap((method) => this.#faultsOf(method))
    const [dealt] = this.#left.splice(Math.floor(this.#random() * this.#left.length), 1)
    return dealt
  }

  #faultsOf(method: string): readonly PlannedFault[] {
    const faults: CallFault[] = [
      { do: 'repeat' },
      { do: 'loseAnswer' },
      { do: 'cut' },
      { do: 'delay', ms: between(this.#random, DELAY_MS.least, DELAY_MS.most) },
    ]
    if (method === LATE_METHOD)
      faults.push({ do: 'repeatLate', ms: between(this.#random, LATE_MS.least, LATE_MS.most) })
    if (this.#kills && KILLED_AFTER.includes(method)) faults.push({ do: 'kill' })
    return faults.map((fault) => ({ method, fault }))
  }
}

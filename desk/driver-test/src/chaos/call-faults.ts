import { between, type CallFault, type Random } from '@csi-sidecars/disturb'

const DELAY_MS = { least: 50, most: 1_500 }
const LATE_MS = { least: 200, most: 1_500 }

/** The only method whose calls the proxy may repeat some time later. For other methods this would do harm. */
export const LATE_METHOD = 'ControllerUnpublishVolume'

/** The methods of snapshots, whose faults have a deck of their own. */
export const SNAPSHOT_METHODS = ['CreateSnapshot', 'DeleteSnapshot']

/** The methods after which the test may kill the driver. The restarted driver must still know their effects. */
const KILLED_AFTER = ['ControllerPublishVolume', 'NodeStageVolume']

/**
 * The methods that undo other methods. The cluster calls them at the end of a run, when everything is deleted. They are
 * then repeated, which a driver must accept at any time.
 */
export const CLEANUP_METHODS = [
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
  'ControllerUnpublishVolume',
  'DeleteVolume',
  'DeleteSnapshot',
]

/** A fault that the next call of a method gets. */
export interface PlannedFault {
  readonly kind: 'breakCall'
  readonly method: string
  readonly fault: CallFault
}

/** Deals faults like cards: every fault of every method once in random order, then again in a new order. */
export class FaultDeck {
  readonly #random: Random
  readonly #methods: readonly string[]
  readonly #kills: boolean
  #left: PlannedFault[] = []

  /** The option `kills` adds faults that kill the driver. */
  constructor(random: Random, methods: readonly string[], { kills = false } = {}) {
    this.#random = random
    this.#methods = methods
    this.#kills = kills
  }

  /** Returns all faults that this round has not dealt yet. Kills come first, because they need successful calls. */
  dealAll(): readonly PlannedFault[] {
    const dealt: PlannedFault[] = []
    do {
      const next = this.deal()
      if (next !== undefined) dealt.push(next)
    } while (this.#left.length > 0)
    const isKill = ({ fault }: PlannedFault): boolean => fault.kind === 'kill'
    return [...dealt.filter(isKill), ...dealt.filter((each) => !isKill(each))]
  }

  deal(): PlannedFault | undefined {
    if (this.#left.length === 0) this.#left = this.#methods.flatMap((method) => this.#faultsOf(method))
    const [dealt] = this.#left.splice(Math.floor(this.#random() * this.#left.length), 1)
    return dealt
  }

  #faultsOf(method: string): readonly PlannedFault[] {
    const faults: CallFault[] = [
      { kind: 'repeat' },
      { kind: 'loseAnswer' },
      { kind: 'cut' },
      { kind: 'delay', ms: between(this.#random, DELAY_MS.least, DELAY_MS.most) },
    ]
    if (method === LATE_METHOD)
      faults.push({ kind: 'repeatLate', ms: between(this.#random, LATE_MS.least, LATE_MS.most) })
    if (this.#kills && KILLED_AFTER.includes(method)) faults.push({ kind: 'kill' })
    return faults.map((fault) => ({ kind: 'breakCall', method, fault }))
  }
}

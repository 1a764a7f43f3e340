/** One step from a state of a model to the next. */
export interface ModelMove<S> {
  /** The name of the move in counterexamples. */
  readonly name: string
  readonly to: S
  /**
   * True if the move always happens sooner or later, such as a retry or the delivery of an event. False for moves that
   * may never happen, such as faults. A path to the goal consists of fair moves.
   */
  readonly fair: boolean
}

/** A model of a system: its states, which are plain data, and the moves between them. */
export interface Model<S> {
  readonly initial: readonly S[]
  /** Returns the key of a state. States with the same key are equal. Default: the JSON of the state. */
  keyOf?(state: S): string
  movesFrom(state: S): Iterable<ModelMove<S>>
  /** Reports whether a state is a goal. Default: true for a state without a fair move to another state. */
  isGoal?(state: S): boolean
  /** Returns the first broken rule of a state. Undefined if the state is correct. */
  violationOf(state: S): string | undefined
  /** Describes the unfinished work of a state that no fair move can leave. Undefined if all work is done. */
  unfinished?(state: S): string | undefined
  /** Returns a state in the form that counterexamples show. Default: the state itself. */
  show?(state: S): unknown
  /** The maximum number of states. `explore` throws if the model has more states. Default: 1,000,000. */
  readonly mostStates?: number
}

/** The numbers of visited states and moves, and the first problem. A walk without a problem has visited all states. */
export interface Exploration {
  readonly states: number
  readonly goals: number
  /** The number of times that each move was taken, by the name of the move. */
  readonly moves: ReadonlyMap<string, number>
  /** The shortest path to a wrong state, or to a state from which no fair moves lead to the goal. */
  readonly problem: string | undefined
}

/** Walks all states of a model, breadth first, and ends at the first wrong state. */
export function explore<S>(model: Model<S>): Exploration {
  return new Walk(model).walk()
}

class Walk<S> {
  readonly #model: Model<S>
  readonly #states: S[] = []
  readonly #indexes = new Map<string, number>()
  /** The first move to each state. The walk is breadth first, so these moves form a shortest path. */
  readonly #firstMoves: { readonly from: number; readonly by: string }[] = []
  /** The predecessors of each state by fair moves. */
  readonly #before: number[][] = []
  readonly #goals: boolean[] = []
  readonly #moves = new Map<string, number>()

  constructor(model: Model<S>) {
    this.#model = model
  }

  walk(): Exploration {
    const model = this.#model
    for (const state of model.initial) this.#indexOf(state, -1, '')
    // The loop also visits the states that it appends to the array.
    for (const [index, state] of this.#states.entries()) {
      const violation = model.violationOf(state)
      if (violation !== undefined) return this.#result(`${violation}\n${this.#wayTo(index)}`)
      let atRest = true
      for (const { name, to, fair } of model.movesFrom(state)) {
        this.#moves.set(name, (this.#moves.get(name) ?? 0) + 1)
        const next = this.#indexOf(to, index, name)
        if (!fair || next === index) continue
        atRest = false
        this.#before[next]?.push(index)
      }
      const left = atRest ? model.unfinished?.(state) : undefined
      if (left !== undefined) return this.#result(`stuck: ${left}\n${this.#wayTo(index)}`)
      this.#goals.push(model.isGoal?.(state) ?? atRest)
    }
    const stuck = this.#firstStuck()
    return this.#result(stuck === undefined ? undefined : `No path leads to the goal\n${this.#wayTo(stuck)}`)
  }

  #indexOf(state: S, from: number, by: string): number {
    const key = this.#model.keyOf?.(state) ?? JSON.stringify(state)
    const knownIndex = this.#indexes.get(key)
    if (knownIndex !== undefined) return knownIndex
    const index = this.#states.length
    const { mostStates = 1_000_000 } = this.#model
    if (index >= mostStates) throw new Error(`more than ${mostStates} states, the last one: ${key}`)
    this.#indexes.set(key, index)
    this.#states.push(state)
    this.#firstMoves.push({ from, by })
    this.#before.push([])
    return index
  }

  /** Returns the first state from which no fair moves lead to a goal. Walks backwards from the goals. */
  #firstStuck(): number | undefined {
    const leads = [...this.#goals]
    const open = [...leads.keys()].filter((index) => leads[index])
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const index of this.#before[next] ?? []) {
        if (leads[index]) continue
        leads[index] = true
        open.push(index)
      }
    }
    const stuck = leads.indexOf(false)
    return stuck < 0 ? undefined : stuck
  }

  #wayTo(index: number): string {
    const steps: string[] = []
    for (let at = index; at >= 0; at = this.#firstMoves[at]?.from ?? -1) {
      const { by = '' } = this.#firstMoves[at] ?? {}
      steps.push(`  ${by === '' ? 'begin' : by}: ${JSON.stringify(this.#printable(at))}`)
    }
    return steps.reverse().join('\n')
  }

  #printable(index: number): unknown {
    const state = this.#states[index] as S
    return this.#model.show === undefined ? state : this.#model.show(state)
  }

  #result(problem: string | undefined): Exploration {
    const goals = this.#goals.filter(Boolean).length
    return { states: this.#states.length, goals, moves: this.#moves, problem }
  }
}

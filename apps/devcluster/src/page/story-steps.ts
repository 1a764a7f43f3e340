import type { Printer } from '../story/run-steps.ts'
import type { Scenario } from '../story/scenario.ts'
import type { Item, Step, StepLine } from './view/wire.ts'

/** Shows the steps of the demo on the page. They stay there when the demo is over. */
export class StorySteps implements Printer {
  readonly #put: (...items: readonly Item[]) => void
  readonly #steps: Step[]

  constructor({ steps, leftOut }: Pick<Scenario, 'steps' | 'leftOut'>, put: (...items: readonly Item[]) => void) {
    this.#put = put
    const planned = steps.map(({ title }, index) => stepItem(index + 1, title))
    const others = leftOut.map(({ title, why }, index) => ({
      ...stepItem(steps.length + index + 1, title),
      state: 'skipped' as const,
      why,
    }))
    this.#steps = [...planned, ...others]
    put(...this.#steps)
  }

  /** Marks the step as running and all later steps as pending. */
  step(number: number, title: string): void {
    const now: Step = { ...stepItem(number, title), state: 'running' }
    const later = this.#steps.filter((each) => each.number > number && each.state !== 'skipped')
    this.#change(now, ...later.map((each) => stepItem(each.number, each.title)))
  }

  line({ who, text }: Pick<StepLine, 'who' | 'text'>, afterMs: number): void {
    const now = this.#steps.find(({ state }) => state === 'running')
    if (now === undefined) return
    this.#change({ ...now, lines: [...now.lines, { who, text, afterMs: Math.round(afterMs) }] })
  }

  ended(number: number, failure?: string): void {
    const step = this.#steps[number - 1]
    if (step === undefined) return
    if (failure === undefined) this.#change({ ...step, state: 'succeeded' })
    else this.#change({ ...step, state: 'failed', why: `${failure} did not happen` })
  }

  #change(...steps: readonly Step[]): void {
    for (const step of steps) this.#steps[step.number - 1] = step
    this.#put(...steps)
  }
}

function stepItem(number: number, title: string): Step {
  return { is: 'step', id: `step/${number}`, number, title, state: 'pending', lines: [] }
}

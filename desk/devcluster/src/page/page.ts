import { CancelledError, type Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Devcluster } from '../cluster/devcluster.ts'
import type { Printer } from '../story/run-steps.ts'
import type { StoryScenario } from '../story/scenario.ts'
import { ActionQueue } from './actions/queue.ts'
import { ACTORS } from './model/actors.ts'
import { PageModel } from './model/model.ts'
import { startPageServer } from './server.ts'
import type { Frame, Item, StepItem, StepLine, TimelineEntry } from './view/wire.ts'

/** The cluster that the page shows, and the port of its server. */
export interface PageOptions {
  readonly cluster: Devcluster
  readonly clock: Clock
  readonly log: Logger
  /** The port of the page's server. 0: any free port. */
  readonly port: number
  /** The demo. The page shows each of its steps with a button. */
  readonly story?: StoryScenario | undefined
}

/** A web page that shows the current state of the cluster. */
export interface Page extends AsyncDisposable {
  readonly url: string
  /** Shows an entry of the time line and items that come neither from the API nor from CSI calls. */
  say(line: TimelineEntry | undefined, ...items: readonly Item[]): void
  /** Shows that a component has ended unexpectedly. The message starts with its name. */
  trouble(message: string): void
}

export async function startPage({ cluster, clock, log, port, story }: PageOptions): Promise<Page> {
  const life = new AbortController()
  const model = new PageModel({ ...cluster, clock, log, send: (frame: Frame) => server.send(frame) })
  const say = (line: TimelineEntry | undefined, ...items: readonly Item[]): void => model.say(line, ...items)
  const queue = new ActionQueue({ cluster, clock, story, say }, life.signal)
  const server = await startPageServer({
    port,
    clock,
    beginning: () => model.beginning,
    onAction: (body) => queue.submit(body),
  })
  const running = model.run(life.signal)
  queue.open()
  story?.addPrinter(new StorySteps(story, (...items) => say(undefined, ...items)))
  return {
    url: server.url,
    say,
    trouble: (text) => say({ who: actorNamed(text), text, bad: true }),
    async [Symbol.asyncDispose]() {
      life.abort(new CancelledError('the page is closed'))
      await running
      queue.close()
      await server.stop()
    },
  }
}

function actorNamed(text: string): string {
  const [name = ''] = text.split(' ')
  return Object.hasOwn(ACTORS, name) ? name : 'unknown'
}

/** Shows the steps of the demo on the page. They stay there when the demo is over. */
class StorySteps implements Printer {
  readonly #send: (...items: readonly Item[]) => void
  readonly #steps: StepItem[]

  constructor({ steps, leftOut }: Pick<StoryScenario, 'steps' | 'leftOut'>, send: (...items: readonly Item[]) => void) {
    this.#send = send
    const planned = steps.map(({ title }, index) => stepItem(index + 1, title))
    const others = leftOut.map(({ title, why }, index) => ({
      ...stepItem(steps.length + index + 1, title),
      state: 'skipped' as const,
      why,
    }))
    this.#steps = [...planned, ...others]
    send(...this.#steps)
  }

  /** Marks the step as running and all later steps as pending. */
  step(number: number, title: string): void {
    const now: StepItem = { ...stepItem(number, title), state: 'running' }
    const laterSteps = this.#steps.filter((each) => each.number > number && each.state !== 'skipped')
    this.#change(now, ...laterSteps.map((each) => stepItem(each.number, each.title)))
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

  #change(...steps: readonly StepItem[]): void {
    for (const step of steps) this.#steps[step.number - 1] = step
    this.#send(...steps)
  }
}

function stepItem(number: number, title: string): StepItem {
  return { kind: 'step', id: `step/${number}`, number, title, state: 'pending', lines: [] }
}

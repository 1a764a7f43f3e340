import { type Clock, deadline, messageOf } from '@csi-sidecars/base'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import type { Devcluster } from '../../cluster/devcluster.ts'
import type { Ending } from '../../story/run-steps.ts'
import type { StoryScenario } from '../../story/scenario.ts'
import { type ActionName, type Field, formOf } from '../view/action-table.ts'
import type { ActionAnswer, Item, TimelineEntry } from '../view/wire.ts'
import { FieldError, type PageAction, parseAction } from './parse.ts'
import { type ActionParts, actionsOf, perform } from './perform.ts'

/** The cluster that actions change, and the page that shows their results. */
export interface ActionQueueOptions {
  readonly cluster: Devcluster
  readonly clock: Clock
  readonly story: StoryScenario | undefined
  readonly say: (line: TimelineEntry | undefined, ...items: readonly Item[]) => void
}

/** The time limit of one action. */
const ACTION_MS = 15_000

/** Performs the actions that a user requests on the page, and answers with their results. */
export class ActionQueue {
  readonly #options: ActionQueueOptions
  readonly #signal: AbortSignal
  readonly #actions: readonly ActionName[]
  readonly #deps: ActionParts
  #leave = (): void => undefined

  constructor(options: ActionQueueOptions, signal: AbortSignal) {
    const { cluster, clock, story } = options
    this.#options = options
    this.#signal = signal
    this.#deps = {
      ...{ cluster, clock },
      runTo: story && ((step) => this.#runTo(story, step)),
      onTrouble: (text) => this.#trouble(text),
    }
    this.#actions = actionsOf(this.#deps)
  }

  /** Sends the page the possible actions, now and whenever the storage classes change. */
  open(): void {
    const { cluster, say } = this.#options
    const { caches, driver } = cluster
    const announce = (): void => {
      const classes = [...caches.classes.store.values()].map(({ key }) => key).sort()
      say(undefined, { kind: 'abilities', id: 'abilities', actions: this.#actions, driver: driver.name, classes })
    }
    this.#leave = caches.classes.subscribe(announce)
    announce()
  }

  close(): void {
    this.#leave()
  }

  async submit(body: unknown): Promise<ActionAnswer> {
    using limit = deadline(this.#options.clock, ACTION_MS, { operation: 'what was asked for', signal: this.#signal })
    let action: PageAction | undefined
    try {
      action = parseAction(body)
      if (!this.#actions.includes(action.name)) throw new Error('This cannot be done here.')
      const text = await perform(action, this.#deps, limit.signal)
      this.#options.say({ who: 'you', text })
      return { done: true, text }
    } catch (error) {
      const field = fieldOf(action, error)
      return { done: false, text: messageOf(error), ...(field !== undefined && { field }) }
    }
  }

  /** Starts the demo up to a step and returns at once. Throws if the demo already runs. */
  #runTo(story: StoryScenario, step: number): void {
    story.check(step)
    story.runTo(step, this.#signal).then(
      (ending) => this.#ended(ending),
      (error: unknown) => this.#signal.aborted || this.#trouble(`The story was interrupted: ${messageOf(error)}`),
    )
  }

  #ended(ending: Ending): void {
    if (ending.kind === 'failed') this.#trouble(`Not true: ${ending.expected}, in the step "${ending.step}"`)
  }

  #trouble(text: string): void {
    this.#options.say({ who: 'you', text, bad: true })
  }
}

/** Returns the form field to blame: the new name for "already exists", the chosen object for "not found". */
function fieldOf(action: PageAction | undefined, error: unknown): string | undefined {
  if (error instanceof FieldError) return error.field
  const fields: readonly Field[] = action === undefined ? [] : formOf(action.name).fields
  if (isAlreadyExists(error)) return fields.find(({ kind }) => kind === 'name')?.name
  if (!isNotFound(error)) return undefined
  return fields.find(({ kind }) => kind === 'claim' || kind === 'pod' || kind === 'node')?.name
}

import { CancelledError, type Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Devcluster } from '../cluster/devcluster.ts'
import type { Scenario } from '../story/scenario.ts'
import { ActionQueue } from './actions/queue.ts'
import { ACTORS } from './model/actors.ts'
import { PageModel } from './model/model.ts'
import { startPageServer } from './server.ts'
import { StorySteps } from './story-steps.ts'
import type { Frame, Item, TimelineEntry } from './view/wire.ts'

export interface PageOptions {
  readonly cluster: Devcluster
  readonly clock: Clock
  readonly log: Logger
  /** 0: any. */
  readonly port: number
  /** Its steps are shown on the page, each with a button. */
  readonly story?: Scenario | undefined
}

/** A page that shows the cluster as it is, until it is stopped. */
export interface Page extends AsyncDisposable {
  readonly url: string
  /** Shows what neither the API nor a call reports. */
  say(line: TimelineEntry | undefined, ...items: readonly Item[]): void
  /** Something has ended that should not have; its name comes first. */
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
    onAction: (body) => queue.take(body),
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

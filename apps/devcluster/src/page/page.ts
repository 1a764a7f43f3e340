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
  /** The port of the page's server. 0: any free port. */
  readonly port: number
  /** The demo. The page shows each of its steps with a button. */
  readonly story?: Scenario | undefined
}

/** A web page that shows the current state of the cluster. */
export interface Page extends AsyncDisposable {
  readonly url: string
  /** Shows a line and items that come neither from the API nor from CSI calls. */
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

import { CancelledError, type Clock } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Devcluster } from '../cluster/devcluster.ts'
import type { Stage } from '../story/stage.ts'
import { Chapters } from './chapters.ts'
import { DeedDesk } from './deeds/desk.ts'
import { ACTORS } from './model/actors.ts'
import { PageModel } from './model/model.ts'
import { startPageServer } from './server.ts'
import type { Frame, Item, TimelineEntry } from './view/wire.ts'

export interface PageOptions {
  readonly cluster: Devcluster
  readonly clock: Clock
  readonly log: Logger
  /** 0: any. */
  readonly port: number
  /** Its chapters stand on the page, each with a button. */
  readonly story?: Stage | undefined
  /** Nobody may do anything on the page: something else is at it. */
  readonly onlyLooking?: boolean
}

/** A page that shows the cluster as it is, until it is stopped. */
export interface Page extends AsyncDisposable {
  readonly url: string
  /** Something that neither the API nor a call tells. */
  say(line: TimelineEntry | undefined, ...items: readonly Item[]): void
  /** Something has ended that should not have; its name comes first. */
  trouble(message: string): void
}

export async function startPage({ cluster, clock, log, port, story, onlyLooking }: PageOptions): Promise<Page> {
  const life = new AbortController()
  const model = new PageModel({ ...cluster, clock, log, tell: (frame: Frame) => server.tell(frame) })
  const say = (line: TimelineEntry | undefined, ...items: readonly Item[]): void => model.say(line, ...items)
  const desk = new DeedDesk({ cluster, clock, story, onlyLooking: onlyLooking === true, say }, life.signal)
  const server = await startPageServer({
    port,
    clock,
    beginning: () => model.beginning,
    onDeed: (body) => desk.take(body),
  })
  const running = model.run(life.signal)
  desk.open()
  story?.tellTo(new Chapters(story, (...items) => say(undefined, ...items)))
  return {
    url: server.url,
    say,
    trouble: (text) => say({ who: actorNamed(text), text, bad: true }),
    async [Symbol.asyncDispose]() {
      life.abort(new CancelledError('the page is closed'))
      await running
      desk.close()
      await server.stop()
    },
  }
}

function actorNamed(text: string): string {
  const [name = ''] = text.split(' ')
  return Object.hasOwn(ACTORS, name) ? name : 'somebody'
}

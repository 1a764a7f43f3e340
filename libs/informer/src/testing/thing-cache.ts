import { FakeClock } from '@csi-sidecars/base/testing'
import type { Resource } from '@csi-sidecars/kube-types'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { createInformer, type Informer, type InformerOptions } from '../informer.ts'
import type { Cached } from '../reader.ts'
import { FaultyServer, type Thing } from './faulty-server.ts'

export const THINGS: Resource<Thing> = {
  group: 'example.com',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
  subresources: [],
}

export const project = ({ metadata: { name, uid, resourceVersion } }: Thing): Cached => ({
  key: name,
  uid,
  resourceVersion,
})

/** An informer of `Thing` objects with its server, and the events that its subscriber has received. */
export class ThingCache {
  readonly clock = new FakeClock({ random: () => 0.5 })
  readonly server = new FaultyServer({ clock: this.clock, random: () => 0.5, streams: true })
  readonly log = recordingLogger()
  readonly heard: string[] = []
  stop = new AbortController()
  informer: Informer<Cached, Thing>
  #done: Promise<void> | undefined

  constructor() {
    this.server.faulty = false
    this.informer = this.create()
  }

  /** Replaces the informer by a new one with other options. */
  create(options: Partial<InformerOptions<Thing, Cached>> = {}): Informer<Cached, Thing> {
    const { clock, log } = this
    const { client } = this.server
    this.informer = createInformer({ client, resource: THINGS, project, resyncMs: 0, clock, log, ...options })
    this.informer.subscribe((event) => {
      const line = event.type === 'updated' ? `${event.origin} ${event.after.key}` : `${event.type} ${event.object.key}`
      this.heard.push(line)
    })
    return this.informer
  }

  async start(): Promise<void> {
    this.#done = this.informer.run(this.stop.signal)
    await this.clock.advance(0)
  }

  /** Stops the informer, and resolves when it has ended. */
  async end(): Promise<void> {
    this.stop.abort(new Error('the test is over'))
    await this.clock.settle()
    await this.#done
  }

  get keys(): string[] {
    return [...this.informer.store.values()].map(({ key }) => key)
  }
}

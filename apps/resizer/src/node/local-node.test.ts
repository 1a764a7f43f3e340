import { CancelledError } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { KubeClient, WatchFrame, WatchOptions } from '@csi-sidecars/kube-client'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { afterEach, expect, it } from '@jest/globals'
import { LocalNodeWatch } from './local-node.ts'

type Frames = AsyncGenerator<WatchFrame<unknown>>

/** Watches that bring what the test says, until it ends them. */
class ScriptedWatches {
  readonly asked: string[] = []
  refusal: Error | undefined
  readonly #open = new Map<string, (frame: WatchFrame<unknown>) => void>()

  readonly client = { watch: (resource, options) => this.#watch(resource.plural, options) } as Pick<KubeClient, 'watch'>

  bring(plural: 'nodes' | 'csinodes', object: object, type: 'ADDED' | 'MODIFIED' | 'DELETED' = 'ADDED'): void {
    this.#open.get(plural)?.({ type, object })
  }

  end(plural: string): void {
    this.#open.get(plural)?.({ type: 'END', why: 'closed' })
  }

  async *#watch(plural: string, { fieldSelector = '', signal }: WatchOptions): Frames {
    this.asked.push(`${plural} ${fieldSelector}`)
    if (this.refusal !== undefined) throw this.refusal
    for (;;) {
      const frame = await new Promise<WatchFrame<unknown>>((resolve, reject) => {
        this.#open.set(plural, resolve)
        signal?.addEventListener('abort', () => reject(signal.reason))
      })
      yield frame
    }
  }
}

let clock: FakeClock
let life: AbortController
let running: Promise<unknown>

function scene() {
  clock = new FakeClock({ random: () => 0 })
  life = new AbortController()
  const watches = new ScriptedWatches()
  const log = recordingLogger()
  const node = new LocalNodeWatch({ client: watches.client, nodeName: 'a', driverName: 'csi.x', clock, log })
  running = Promise.all(node.caches.map((cache) => cache.run(life.signal)))
  return { watches, log, node }
}

afterEach(async () => {
  life.abort(new CancelledError('the end'))
  await running
  expect(clock.pending).toBe(0)
})

const NODE = { metadata: { name: 'a', labels: { 'x/node': 'a' } } }
const csiNode = (...drivers: object[]) => ({ metadata: { name: 'a' }, spec: { drivers } })
const DRIVER = { name: 'csi.x', nodeID: 'id', topologyKeys: ['x/node'] }
const messages = (log: ReturnType<typeof recordingLogger>): string[] => log.lines.map(({ message }) => message)

it('knows the node once its CSINode lists the driver, and logs one line while it waits', async () => {
  const { watches, log, node } = scene()
  let known = false
  const waiting = node.whenKnown(life.signal).then(() => {
    known = true
  })
  await clock.settle()
  watches.bring('nodes', NODE)
  await clock.settle()
  watches.bring('csinodes', { metadata: { name: 'a' }, spec: { drivers: null } })
  await clock.advance(10_000)
  expect([known, node.current, node.caches.map(({ synced }) => synced)]).toEqual([false, undefined, [false, false]])
  watches.bring('csinodes', csiNode({ name: 'other' }, DRIVER), 'MODIFIED')
  await waiting
  expect(node.current).toEqual({ name: 'a', labels: { 'x/node': 'a' }, nodeId: 'id', topologyKeys: ['x/node'] })
  expect(node.caches.map(({ synced }) => synced)).toEqual([true, true])
  expect(messages(log)).toEqual(['Waiting for the node of this process'])
  expect(watches.asked).toEqual(['nodes metadata.name=a', 'csinodes metadata.name=a'])
})

it('reports a change of labels and of topology keys, and nothing else', async () => {
  const { watches, node } = scene()
  let changes = 0
  node.onChange(() => {
    changes += 1
  })
  await clock.settle()
  watches.bring('nodes', NODE)
  watches.bring('csinodes', csiNode(DRIVER))
  await clock.settle()
  watches.bring('nodes', { ...NODE, status: { capacity: {} } }, 'MODIFIED')
  // The kubelet takes the driver away and registers it again.
  watches.bring('csinodes', csiNode(), 'MODIFIED')
  await clock.settle()
  watches.bring('csinodes', csiNode(), 'DELETED')
  await clock.settle()
  expect([changes, node.current?.nodeId]).toEqual([0, 'id'])
  watches.bring('nodes', { metadata: { name: 'a', labels: { 'x/node': 'b' } } }, 'MODIFIED')
  await clock.settle()
  watches.bring('csinodes', csiNode({ ...DRIVER, topologyKeys: null }), 'MODIFIED')
  await clock.settle()
  expect([changes, node.current]).toEqual([2, { name: 'a', labels: { 'x/node': 'b' }, nodeId: 'id', topologyKeys: [] }])
})

it('watches again after the end of a stream, and ever more slowly while it is refused', async () => {
  const { watches, log } = scene()
  await clock.settle()
  watches.refusal = new Error('no')
  watches.end('nodes')
  await clock.advance(60_000)
  const refused = messages(log).filter((message) => message === 'Failed to watch').length
  expect(refused).toBeGreaterThan(3)
  expect(refused).toBeLessThan(10)
})

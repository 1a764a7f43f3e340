import { FakeClock } from '@csi-sidecars/base/testing'
import type { EndFrame, KubeClient, WatchFrame, WatchOptions } from '@csi-sidecars/kube-client'
import type { Pod } from '@csi-sidecars/kube-types'
import { type RecordingLogger, recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { pod } from '../testing/builders.ts'
import { apiError } from '../testing/fake-cluster.ts'
import { PodWatch } from './pod-watch.ts'

type Frames = readonly WatchFrame<Pod>[] | Error

let clock: FakeClock
let listed: readonly Pod[]
/** The events that each watch stream delivers. The last stream stays open. */
let streams: Frames[]
let versions: (string | undefined)[]
let lists: number
let unused: string[]
let refusals: unknown[]
let log: RecordingLogger

beforeEach(() => {
  clock = new FakeClock()
  listed = []
  streams = []
  versions = []
  lists = 0
  unused = []
  refusals = []
  log = recordingLogger()
})

const api: Pick<KubeClient, 'list' | 'watch'> = {
  async *list(_resource, { project }) {
    lists += 1
    const items = listed.flatMap((each) => project(each as never) ?? [])
    yield { items, resourceVersion: String(lists * 100), continue: undefined }
  },
  async *watch(_resource, { resourceVersion, signal }: WatchOptions) {
    versions.push(resourceVersion)
    const frames = streams.shift()
    if (frames instanceof Error) throw frames
    for (const frame of frames ?? []) yield frame as never
    if (frames === undefined)
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  },
}

async function open(namespace?: string): Promise<PodWatch> {
  const watch = new PodWatch({
    api,
    namespace,
    onUnused: (claim) => void unused.push(claim),
    onRefused: (error) => void refusals.push(error),
    clock,
    log,
  })
  await watch.listed
  await clock.settle()
  return watch
}

const over = (why: EndFrame['why']): WatchFrame<Pod> => ({ type: 'END', why })
const changed = (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Pod, version: string): WatchFrame<Pod> => ({
  type,
  object: { ...object, metadata: { ...object.metadata, resourceVersion: version } },
})

describe('PodWatch', () => {
  const ephemeral: Pod = {
    metadata: { namespace: 'ns', name: 'job' },
    spec: {
      containers: [],
      volumes: [
        { name: 'scratch', ephemeral: {} },
        { name: 'config', configMap: { name: 'c' } },
      ],
    },
  }

  it.each<[name: string, pod: Pod, claims: readonly string[]]>([
    ['the claim of a volume of a pod', pod('web', 'data'), ['ns/data']],
    ['the claim of an ephemeral volume', ephemeral, ['ns/job-scratch']],
    ['the claim of a pending pod', pod('web', 'data', 'Pending'), ['ns/data']],
    ['no claim of a pod that has succeeded', pod('web', 'data', 'Succeeded'), []],
    ['no claim of a pod that has failed', pod('web', 'data', 'Failed'), []],
    ['no claim of a pod without volumes', { metadata: { namespace: 'ns', name: 'web' }, spec: { containers: [] } }, []],
  ])('`PodWatch` reports as used %s', async (_what, each, claims) => {
    listed = [each]
    const watch = await open()
    expect(['ns/data', 'ns/job-scratch', 'ns/job-config', 'ns/'].filter((claim) => watch.uses(claim))).toEqual(claims)
    watch.close()
  })

  it('`PodWatch` reports a claim as unused when its pod ends, not when the pod changes', async () => {
    listed = [pod('web', 'data')]
    streams = [
      [changed('MODIFIED', pod('web', 'data', 'Running'), '101'), over('closed')],
      [changed('MODIFIED', pod('web', 'data', 'Failed'), '102')],
    ]
    const watch = await open()
    expect([watch.uses('ns/data'), unused]).toEqual([true, []])
    await clock.advance(1_000)
    expect([watch.uses('ns/data'), unused]).toEqual([false, ['ns/data']])
    watch.close()
  })
})

describe('shared claims', () => {
  it('`PodWatch` reports a claim of several pods as unused when the last pod ends, in any order of events', async () => {
    listed = [pod('web', 'data')]
    const frames = [
      changed('ADDED', pod('job', 'data'), '101'),
      changed('DELETED', pod('web', 'data'), '102'),
      changed('ADDED', pod('web', 'data'), '103'),
      changed('DELETED', pod('job', 'data'), '104'),
      changed('DELETED', pod('none', ''), '105'),
      changed('DELETED', pod('web', 'data'), '106'),
    ]
    streams = frames.map((frame) => [frame, over('closed')])
    const watch = await open()
    const counts: (readonly [isUsed: boolean, unused: number])[] = []
    for (const _ of frames.slice(1)) {
      counts.push([watch.uses('ns/data'), unused.length])
      await clock.advance(1_000)
    }
    expect(counts).toEqual(frames.slice(1).map(() => [true, 0]))
    expect([watch.uses('ns/data'), unused]).toEqual([false, ['ns/data']])
    expect(versions).toEqual(['100', '101', '102', '103', '104', '105'])
    watch.close()
  })
})

describe('stream ends', () => {
  it.each<[EndFrame['why'], version: string | undefined, lists: number]>([
    ['closed', '105', 1],
    ['broken', '105', 1],
    ['silent', '105', 1],
    ['badFrame', '200', 2],
    ['error', '200', 2],
  ])('`PodWatch` continues after the end `%s` of a stream from version %s', async (why, version, times) => {
    streams = [[{ type: 'BOOKMARK', resourceVersion: '105', initialEventsEnd: false }, over(why)]]
    const watch = await open()
    await clock.advance(1_000)
    expect([versions, lists]).toEqual([['100', version], times])
    watch.close()
  })

  it.each<[name: string, error: Error, versions: readonly string[]]>([
    ['continues from its last version after an error', apiError(500, 'InternalError', 'no'), ['100', '100']],
    ['lists again if the API server has dropped its version', apiError(410, 'Expired', 'too old'), ['100', '200']],
  ])('`PodWatch` %s', async (_what, error, expected) => {
    streams = [error]
    const watch = await open('ns')
    await clock.advance(1_000)
    expect(versions).toEqual(expected)
    expect(log.lines).toMatchObject([{ message: 'Watching pods failed', pairs: { namespace: 'ns', err: error } }])
    expect(refusals).toEqual([])
    watch.close()
  })

  it('after a new list, `PodWatch` reports exactly the claims that no listed pod uses', async () => {
    listed = [pod('web', 'data'), pod('job', 'other')]
    streams = [apiError(410, 'Expired', 'too old')]
    const watch = await open()
    listed = [pod('later', 'other')]
    await clock.advance(1_000)
    expect([unused, watch.uses('ns/data'), watch.uses('ns/other')]).toEqual([['ns/data'], false, true])
    watch.close()
  })

  it('`PodWatch` waits longer before each reconnect until a stream delivers data', async () => {
    const empty: Frames = [over('closed')]
    streams = [empty, empty, [changed('ADDED', pod('web', 'data'), '101'), over('closed')], empty]
    const watch = await open()
    const opened: number[] = []
    for (const seconds of [1, 2, 1, 2]) {
      await clock.advance(seconds * 1_000 - 1)
      opened.push(versions.length)
      await clock.advance(1)
      opened.push(versions.length)
    }
    expect(opened).toEqual([1, 2, 2, 3, 3, 4, 4, 5])
    watch.close()
  })

  it('`PodWatch` ends and calls `onRefused` if the API server forbids the watch', async () => {
    const forbidden = apiError(403, 'Forbidden', 'pods is forbidden')
    streams = [forbidden]
    await open()
    await clock.advance(60_000)
    expect(refusals).toEqual([forbidden])
    expect(versions).toEqual(['100'])
    expect(clock.pending).toBe(0)
  })
})

describe('closed PodWatch', () => {
  it('a closed `PodWatch` sends no request and reports nothing', async () => {
    listed = [pod('web', 'data')]
    const watch = await open()
    watch.close()
    await clock.advance(60_000)
    expect([versions, refusals, unused]).toEqual([['100'], [], []])
    expect(clock.pending).toBe(0)
  })

  it('a `PodWatch` that is closed before its list arrives sends no watch', async () => {
    const early = new PodWatch({
      api,
      namespace: 'ns',
      onUnused: () => undefined,
      onRefused: (error) => void refusals.push(error),
      clock,
      log,
    })
    early.close()
    await early.listed.catch(() => undefined)
    await clock.advance(1_000)
    expect([versions, refusals]).toEqual([[], []])
  })
})

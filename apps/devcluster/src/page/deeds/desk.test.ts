import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { CancelledError, systemClock } from '@csi-sidecars/base'
import { NODES, PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { Stage } from '../../story/stage.ts'
import { claimOf, inDefault, isRunning, podOf, startTestCluster, type TestCluster } from '../../testing/cluster.ts'
import type { DeedAnswer } from '../server.ts'
import type { Item, TimelineEntry } from '../view/wire.ts'
import { DeedDesk, type DeskOptions } from './desk.ts'

interface Open extends Disposable {
  readonly lines: TimelineEntry[]
  readonly items: Item[]
  /** Resolves when the page knows these storage classes, as the cache has them sooner or later. */
  classes(...names: readonly string[]): Promise<void>
  do(deed: string, values?: Readonly<Record<string, string>>): Promise<DeedAnswer>
}

function open({ cluster }: TestCluster, change: Partial<DeskOptions> = {}): Open {
  const life = new AbortController()
  const lines: TimelineEntry[] = []
  const items: Item[] = []
  const said = new EventTarget()
  const say: DeskOptions['say'] = (line, ...more) => {
    if (line !== undefined) lines.push(line)
    items.push(...more)
    said.dispatchEvent(new Event('said'))
  }
  const knows = (names: readonly string[]): boolean => {
    const last = items.at(-1)
    return last?.is === 'abilities' && isDeepStrictEqual(last.classes, names)
  }
  const desk = new DeedDesk(
    { cluster, clock: systemClock, story: undefined, onlyLooking: false, say, ...change },
    life.signal,
  )
  desk.open()
  return {
    lines,
    items,
    async classes(...names) {
      while (!knows(names)) await once(said, 'said', { signal: life.signal })
    },
    do: (deed, values = {}) => desk.take({ deed, values }),
    [Symbol.dispose]() {
      life.abort(new CancelledError('the test is over'))
      desk.close()
    },
  }
}

describe('on the page somebody can', () => {
  it('make a claim and a pod, raise it, change its class, drain the node, and take all away', async () => {
    await using test = await startTestCluster()
    using desk = open(test)
    expect(await desk.do('makeClaim', { name: 'data', size: '1Gi', class: 'devcluster' })).toEqual({
      done: true,
      text: 'Claim data is made.',
    })
    await desk.do('makePod', { name: 'app', claim: 'data', node: 'node-1' })
    await test.until(PODS, inDefault('app'), isRunning)

    await desk.do('raiseClaim', { claim: 'data', size: '2Gi' })
    await test.until(
      PERSISTENT_VOLUME_CLAIMS,
      inDefault('data'),
      ({ status }) => status?.capacity?.['storage'] === '2Gi',
    )
    await desk.do('changeClass', { claim: 'default/data', class: 'gold' })
    await test.until(
      PERSISTENT_VOLUME_CLAIMS,
      inDefault('data'),
      ({ spec }) => spec?.volumeAttributesClassName === 'gold',
    )

    expect((await desk.do('drainNode', { node: 'node-1' })).text).toBe(
      'node-1 takes no pods any more; 1 of them had to go.',
    )
    const moved = await test.until(PODS, inDefault('app-2'), isRunning)
    expect(moved.spec?.nodeName).toBe('node-2')
    await desk.do('uncordonNode', { node: 'node-1' })
    await test.until(NODES, { name: 'node-1' }, ({ spec }) => spec?.unschedulable !== true)

    await desk.do('deletePod', { pod: 'app-2' })
    await desk.do('deleteClaim', { claim: 'data' })
    await test.untilGone(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    expect(desk.lines.map(({ who }) => who)).toEqual(Array(8).fill('you'))
  })

  it('make a claim without a class', async () => {
    await using test = await startTestCluster({ controllers: [], standIns: [] })
    using desk = open(test)
    await desk.do('makeClaim', { name: 'bare', size: '1Gi', class: '' })
    expect(test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('bare'))?.spec?.storageClassName).toBeUndefined()
  })

  it('break the driver and mend it, and kill it', async () => {
    await using test = await startTestCluster({ standIns: [] })
    using desk = open(test)
    const method = 'CreateVolume'
    await desk.do('breakCalls', { method, how: 'fails with Internal', times: '1000' })
    await test.cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await test.driver.log.until({ method, code: 13 })
    await desk.do('mendCalls')
    await test.driver.log.until({ method, code: 0 })
    expect((await desk.do('killDriver', { seconds: '1' })).text).toBe('The driver is killed, and comes back in 1 s.')
    await test.cluster.client.create(PODS, podOf('app', 'node-1', 'data'))
    await test.driver.log.until({ method: 'Probe' }, { count: 2 })
  })

  it('hear what the API refuses, and what cannot be done', async () => {
    await using test = await startTestCluster({ controllers: [], standIns: [] })
    using desk = open(test)
    expect(await desk.do('deletePod', { pod: 'nobody' })).toEqual({ done: false, text: 'pods "nobody" not found' })
    expect(await desk.do('killSidecar', { sidecar: 'csi-attacher' })).toEqual({
      done: false,
      text: 'This cannot be done here.',
    })
    expect(await desk.do('tellChapter', { number: '1' })).toEqual({ done: false, text: 'This cannot be done here.' })
    await desk.classes('fast')
    expect(desk.items.at(-1)).toMatchObject({ is: 'abilities', driver: test.driver.settings.name })
  })

  it('do nothing where something else is at it', async () => {
    await using test = await startTestCluster({ controllers: [], standIns: [] })
    using desk = open(test, { onlyLooking: true })
    expect(await desk.do('mendCalls')).toEqual({ done: false, text: 'This cannot be done here.' })
    expect(desk.items).toMatchObject([{ deeds: [] }])
  })

  it('let a chapter of the story be told, one at a time', async () => {
    await using test = await startTestCluster()
    const story = new Stage({ cluster: test.cluster, clock: systemClock, chapterMs: 15_000, pauseMs: 0 })
    const ended = Promise.withResolvers<void>()
    story.tellTo({
      chapter: () => undefined,
      line: () => undefined,
      ended: (number) => number === 2 && ended.resolve(),
    })
    using desk = open(test, { story })
    expect(await desk.do('tellChapter', { number: '2' })).toEqual({
      done: true,
      text: 'The story is told up to chapter 2.',
    })
    expect(await desk.do('tellChapter', { number: '1' })).toEqual({ done: false, text: 'The story is being told.' })
    await ended.promise
    expect(await desk.do('tellChapter', { number: '9' })).toEqual({ done: false, text: 'There is no chapter 9.' })
    expect(test.api.get(PODS, inDefault('app-1'))?.status?.phase).toBe('Running')
  })
})

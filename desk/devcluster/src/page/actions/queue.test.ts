import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { CancelledError, systemClock } from '@csi-sidecars/base'
import { NODES, PERSISTENT_VOLUME_CLAIMS, PODS } from '@csi-sidecars/kube-types'
import { describe, expect, it } from '@jest/globals'
import { StoryScenario } from '../../story/scenario.ts'
import { claimOf, inDefault, isRunning, podOf, startTestCluster, type TestCluster } from '../../testing/cluster.ts'
import type { ActionAnswer, Item, TimelineEntry } from '../view/wire.ts'
import { ActionQueue, type ActionQueueOptions } from './queue.ts'

interface Open extends Disposable {
  readonly lines: TimelineEntry[]
  readonly items: Item[]
  /** Resolves when the page offers exactly these storage classes. */
  classes(...names: readonly string[]): Promise<void>
  do(action: string, values?: Readonly<Record<string, string>>): Promise<ActionAnswer>
}

function open({ cluster }: TestCluster, change: Partial<ActionQueueOptions> = {}): Open {
  const life = new AbortController()
  const lines: TimelineEntry[] = []
  const items: Item[] = []
  const notices = new EventTarget()
  const say: ActionQueueOptions['say'] = (line, ...more) => {
    if (line !== undefined) lines.push(line)
    items.push(...more)
    notices.dispatchEvent(new Event('notice'))
  }
  const knows = (names: readonly string[]): boolean => {
    const last = items.at(-1)
    return last?.kind === 'abilities' && isDeepStrictEqual(last.classes, names)
  }
  const queue = new ActionQueue({ cluster, clock: systemClock, story: undefined, say, ...change }, life.signal)
  queue.open()
  return {
    lines,
    items,
    async classes(...names) {
      while (!knows(names)) await once(notices, 'notice', { signal: life.signal })
    },
    do: (action, values = {}) => queue.submit({ action, values }),
    [Symbol.dispose]() {
      life.abort(new CancelledError('the test is over'))
      queue.close()
    },
  }
}

describe('ActionQueue', () => {
  it('the page creates a pod with a claim, changes the claim, drains the node, and deletes the objects', async () => {
    await using test = await startTestCluster()
    using queue = open(test)
    expect(await queue.do('createClaim', { name: 'data', size: '1Gi', class: 'devcluster' })).toEqual({
      done: true,
      text: 'Claim data is created.',
    })
    await queue.do('createPod', { name: 'app', claim: 'data', node: 'node-1' })
    await test.until(PODS, inDefault('app'), isRunning)

    await queue.do('expandClaim', { claim: 'data', size: '2Gi' })
    await test.until(
      PERSISTENT_VOLUME_CLAIMS,
      inDefault('data'),
      ({ status }) => status?.capacity?.['storage'] === '2Gi',
    )
    await queue.do('changeClass', { claim: 'default/data', class: 'gold' })
    await test.until(
      PERSISTENT_VOLUME_CLAIMS,
      inDefault('data'),
      ({ spec }) => spec?.volumeAttributesClassName === 'gold',
    )

    expect((await queue.do('drainNode', { node: 'node-1' })).text).toBe('node-1 is drained; pods moved: 1.')
    const movedPod = await test.until(PODS, inDefault('app-2'), isRunning)
    expect(movedPod.spec?.nodeName).toBe('node-2')
    await queue.do('uncordonNode', { node: 'node-1' })
    await test.until(NODES, { name: 'node-1' }, ({ spec }) => spec?.unschedulable !== true)

    await queue.do('deletePod', { pod: 'app-2' })
    await queue.do('deleteClaim', { claim: 'data' })
    await test.untilGone(PERSISTENT_VOLUME_CLAIMS, inDefault('data'))
    expect(queue.lines.map(({ who }) => who)).toEqual(Array(8).fill('you'))
  })

  it('the page can create a claim without a class', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: [] })
    using queue = open(test)
    await queue.do('createClaim', { name: 'bare', size: '1Gi', class: '' })
    expect(test.api.get(PERSISTENT_VOLUME_CLAIMS, inDefault('bare'))?.spec?.storageClassName).toBeUndefined()
  })

  it('the page can inject faults into the driver, clear them, and kill the driver', async () => {
    await using test = await startTestCluster({ substitutes: ['csi-provisioner'] })
    using queue = open(test)
    const method = 'CreateVolume'
    await queue.do('injectFaults', { method, how: 'fails with Internal', times: '1000' })
    await test.cluster.client.create(PERSISTENT_VOLUME_CLAIMS, claimOf('data'))
    await test.driver.log.until({ method, code: 13 })
    await queue.do('clearFaults')
    await test.driver.log.until({ method, code: 0 })
    expect((await queue.do('killDriver', { seconds: '1' })).text).toBe('The driver is killed, and comes back in 1 s.')
    await test.cluster.client.create(PODS, podOf('app', 'node-1', 'data'))
    await test.driver.log.until({ method: 'Probe' }, { count: 2 })
  })

  it('a refused action of the page returns the reason of the API server or the page', async () => {
    await using test = await startTestCluster({ controllers: [], substitutes: [] })
    using queue = open(test)
    expect(await queue.do('deletePod', { pod: 'absent' })).toEqual({
      done: false,
      text: 'pods "absent" not found',
      field: 'pod',
    })
    await queue.do('createClaim', { name: 'data', size: '1Gi', class: '' })
    expect(await queue.do('createClaim', { name: 'data', size: '1Gi', class: '' })).toEqual({
      done: false,
      text: 'persistentvolumeclaims "data" already exists',
      field: 'name',
    })
    expect(await queue.do('createClaim', { name: 'other', size: 'big', class: '' })).toMatchObject({ field: 'size' })
    expect(await queue.do('killSidecar', { sidecar: 'csi-attacher' })).toEqual({
      done: false,
      text: 'This cannot be done here.',
    })
    expect(await queue.do('runStep', { number: '1' })).toEqual({ done: false, text: 'This cannot be done here.' })
    await queue.classes('fast')
    expect(queue.items.at(-1)).toMatchObject({ kind: 'abilities', driver: test.driver.settings.name })
  })

  it('the page runs the demo up to a step, and refuses a second run at the same time', async () => {
    await using test = await startTestCluster()
    const story = new StoryScenario({ cluster: test.cluster, clock: systemClock, stepMs: 15_000, pauseMs: 0 })
    const ended = Promise.withResolvers<void>()
    story.addPrinter({
      step: () => undefined,
      line: () => undefined,
      ended: (number) => number === 2 && ended.resolve(),
    })
    using queue = open(test, { story })
    expect(await queue.do('runStep', { number: '2' })).toEqual({
      done: true,
      text: 'The story runs up to step 2.',
    })
    expect(await queue.do('runStep', { number: '1' })).toEqual({ done: false, text: 'The story is running.' })
    await ended.promise
    expect(await queue.do('runStep', { number: '9' })).toEqual({ done: false, text: 'There is no step 9.' })
    expect(test.api.get(PODS, inDefault('app-1'))?.status?.phase).toBe('Running')
  })
})

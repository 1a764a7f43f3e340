import { FakeClock } from '@csi-sidecars/base/testing'
import { Metrics } from '@csi-sidecars/telemetry'
import { describe, expect, test } from '@jest/globals'
import { QueueMetrics } from './metrics.ts'
import { perKeyExponential, WorkQueue } from './work-queue.ts'

const NAME = 'csi-attacher-va'

interface Setup {
  readonly clock: FakeClock
  queue(name?: string): WorkQueue
  /** Returns the value of a series, for example of `depth` or `adds_total`. */
  read(suffix: string, name?: string): Promise<number | undefined>
  text(): Promise<string>
}

function make(): Setup {
  const clock = new FakeClock()
  const metrics = new Metrics()
  const observers = new QueueMetrics(metrics, clock)
  const limiter = perKeyExponential({ baseMs: 1000, maxMs: 5000 })
  return {
    clock,
    queue: (name = NAME) => new WorkQueue({ clock, limiter, observer: observers.observe(name) }),
    async read(suffix, name = NAME) {
      const start = `workqueue_${suffix}{name="${name}"} `
      const line = (await metrics.text()).split('\n').find((each) => each.startsWith(start))
      return line === undefined ? undefined : Number(line.slice(start.length))
    },
    text: () => metrics.text(),
  }
}

describe('queue metrics', () => {
  test('queue metrics have the names, types and help texts of Kubernetes', async () => {
    const { queue, text } = make()
    const va = queue()
    va.add('a')
    await va.get()
    va.done('a')
    expect((await text()).split('\n').filter((line) => line.startsWith('#'))).toEqual([
      '# HELP workqueue_adds_total [BETA] Total number of adds handled by workqueue',
      '# TYPE workqueue_adds_total counter',
      '# HELP workqueue_depth [BETA] Current depth of workqueue',
      '# TYPE workqueue_depth gauge',
      '# HELP workqueue_longest_running_processor_seconds [BETA] How many seconds has the longest running processor for workqueue been running.',
      '# TYPE workqueue_longest_running_processor_seconds gauge',
      '# HELP workqueue_queue_duration_seconds [BETA] How long in seconds an item stays in workqueue before being requested.',
      '# TYPE workqueue_queue_duration_seconds histogram',
      '# HELP workqueue_retries_total [BETA] Total number of retries handled by workqueue',
      '# TYPE workqueue_retries_total counter',
      "# HELP workqueue_unfinished_work_seconds [BETA] How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
      '# TYPE workqueue_unfinished_work_seconds gauge',
      '# HELP workqueue_work_duration_seconds [BETA] How long in seconds processing an item from workqueue takes.',
      '# TYPE workqueue_work_duration_seconds histogram',
    ])
  })

  test('the series of a new queue exist with the value 0', async () => {
    const { queue, text } = make()
    queue()
    expect((await text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual(
      expect.arrayContaining([
        `workqueue_adds_total{name="${NAME}"} 0`,
        `workqueue_depth{name="${NAME}"} 0`,
        `workqueue_longest_running_processor_seconds{name="${NAME}"} 0`,
        `workqueue_retries_total{name="${NAME}"} 0`,
        `workqueue_unfinished_work_seconds{name="${NAME}"} 0`,
      ]),
    )
  })

  test.each(['queue_duration', 'work_duration'])('the bucket bounds of %s are printed as in Go', async (family) => {
    const { queue, text } = make()
    const va = queue()
    va.add('a')
    await va.get()
    va.done('a')
    const bounds = [...(await text()).matchAll(new RegExp(`^workqueue_${family}_seconds_bucket{(.*)} 1$`, 'gm'))]
    expect(bounds.map(([, labels]) => labels)).toEqual(
      '1e-08 1e-07 1e-06 9.999999999999999e-06 9.999999999999999e-05 0.001 0.01 0.1 1 10 +Inf'
        .split(' ')
        .map((le) => `name="${NAME}",le="${le}"`),
    )
  })

  test('queue metrics count the repeated additions of a waiting key as one addition', async () => {
    const { queue, read } = make()
    const va = queue()
    for (const key of ['a', 'b', 'a']) va.add(key)
    expect([await read('adds_total'), await read('depth')]).toEqual([2, 2])
    await va.get()
    va.add('a')
    expect([await read('adds_total'), await read('depth')]).toEqual([3, 2])
    va.done('a')
    await va.get()
    await va.get()
    expect([await read('adds_total'), await read('depth')]).toEqual([3, 0])
    va.add('a')
    va.markSeen('a')
    expect([await read('adds_total'), await read('depth')]).toEqual([4, 0])
  })

  test('queue metrics measure how long a key waits and how long its work lasts', async () => {
    const { clock, queue, read } = make()
    const va = queue()
    va.add('a')
    await clock.advance(2000)
    va.add('a')
    await clock.advance(500)
    await va.get()
    va.add('a')
    await clock.advance(1250)
    va.done('a')
    expect([await read('queue_duration_seconds_sum'), await read('queue_duration_seconds_count')]).toEqual([2.5, 1])
    expect([await read('work_duration_seconds_sum'), await read('work_duration_seconds_count')]).toEqual([1.25, 1])
    await va.get()
    expect([await read('queue_duration_seconds_sum'), await read('queue_duration_seconds_count')]).toEqual([3.75, 2])
  })

  test('queue metrics show the total and the longest age of unfinished work', async () => {
    const { clock, queue, read } = make()
    const va = queue()
    va.add('a')
    await va.get()
    await clock.advance(3000)
    va.add('b')
    await va.get()
    await clock.advance(1000)
    expect([await read('unfinished_work_seconds'), await read('longest_running_processor_seconds')]).toEqual([5, 4])
    va.done('a')
    expect([await read('unfinished_work_seconds'), await read('longest_running_processor_seconds')]).toEqual([1, 1])
    va.done('b')
    expect([await read('unfinished_work_seconds'), await read('longest_running_processor_seconds')]).toEqual([0, 0])
  })

  test('queue metrics count each delayed addition as a retry, until the queue is shut down', async () => {
    const { queue, read } = make()
    const each = queue()
    each.addRateLimited('a')
    each.addAfter('b', 0)
    each.shutDown()
    each.addAfter('c', 10)
    expect(await read('retries_total')).toBe(2)
  })

  test('queue metrics add up two queues of one name', async () => {
    const { clock, queue, read } = make()
    const [resize, modify, other] = [queue('driver-pvc'), queue('driver-pvc'), queue('other')]
    resize.add('a')
    modify.add('a')
    modify.add('b')
    other.add('a')
    expect([await read('adds_total', 'driver-pvc'), await read('depth', 'driver-pvc')]).toEqual([3, 3])
    await resize.get()
    await clock.advance(1000)
    await modify.get()
    await clock.advance(1000)
    expect(await read('depth', 'driver-pvc')).toBe(1)
    expect(await read('unfinished_work_seconds', 'driver-pvc')).toBe(3)
    expect(await read('longest_running_processor_seconds', 'driver-pvc')).toBe(2)
    expect(await read('depth', 'other')).toBe(1)
  })

  test('the depth metric drops the waiting keys of a closed queue after its last running key is done', async () => {
    const { queue, read } = make()
    const [old, young] = [queue(), queue()]
    old.add('a')
    old.add('b')
    young.add('a')
    await old.get()
    old.shutDown()
    expect(await read('depth')).toBe(2)
    old.done('a')
    expect([await read('adds_total'), await read('depth'), await read('work_duration_seconds_count')]).toEqual([
      3, 1, 1,
    ])
    young.shutDown()
    expect([await read('adds_total'), await read('depth')]).toEqual([3, 0])
  })
})

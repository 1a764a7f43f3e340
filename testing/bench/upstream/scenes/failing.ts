import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { grantTo } from '../../../e2e/harness/api/roles.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import { isWrite } from '../audit.ts'
import type { Ground } from '../ground.ts'
import { attach, copiesOfFirst, nodeOf, nodes, volumes } from '../objects.ts'
import type { Bench, BenchScene } from '../scene.ts'
import type { Subject } from '../subject.ts'
import { ATTACHED, ATTACHES, attachTimes, BETWEEN_ATTACHES_MS, percentile, volumeOf } from './latency.ts'

const BAD = 10_000
const FAILING_MS = 60_000
const BAD_PREFIX = 'bad'

/** The cost of repeatedly failing attachments for others. */
export const failing: BenchScene = {
  name: 'failing',
  title: 'Attachments beside others that fail',
  conditions:
    'Ours alone, with default flags and the right to write events. The driver refuses the bad volumes at once with the same words. Healthy attaches ' +
    `are asked for every ${BETWEEN_ATTACHES_MS} ms, ${ATTACHES} in all, once the others have failed for ` +
    `${FAILING_MS / 1000} s; their time is that until ControllerPublishVolume.`,
  async run(bench) {
    for (const bad of [0, bench.sized(BAD)]) {
      bench.printLine(`  beside ${bad}`)
      await beside(bench, bad)
    }
  },
}

async function beside(bench: Bench, bad: number): Promise<void> {
  await using ground = await bench.ground()
  // The rule that our chart grants. The stock roles of attachers have no events.
  const events = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]
  await grantTo('attacher', 'csi-attacher-event', { api: ground.api, rules: events })
  const driver = await ground.driver('failing.example.com')
  driver.on('ControllerPublishVolume', (call) =>
    volumeOf(call).startsWith(BAD_PREFIX) ? { code: 13, message: 'no such array' } : { reply: { publishContext: {} } },
  )
  const count = bench.sized(ATTACHES)
  await nodes(ground, driver.name)
  await volumes(ground, driver.name, { count, prefix: ATTACHED })
  if (bad > 0) await makeBad(ground, driver.name, bad)
  const subject = await ground.start({ side: 'ours', app: 'attacher', driver })
  await pause(bad > 0 ? FAILING_MS : FAILING_MS / 10)
  const [before, eventsBefore] = [subject.cost(), await eventWrites(subject)]
  const from = performance.now()
  const times = await attachTimes(ground, subject, { count })
  const seconds = (performance.now() - from) / 1000
  const after = subject.cost()
  const label = `beside ${bad} that fail: `
  bench.figures.note('attacher', 'ours', {
    [`${label}attach, median (ms)`]: percentile(times, 0.5),
    [`${label}attach, p99 (ms)`]: percentile(times, 0.99),
    [`${label}CPU per second (s)`]: (after.cpuSeconds - before.cpuSeconds) / seconds,
    [`${label}RSS at the beginning (MiB)`]: before.rss,
    [`${label}RSS at the end (MiB)`]: after.rss,
    [`${label}events written per second`]: ((await eventWrites(subject)) - eventsBefore) / seconds,
  })
  await subject.stop()
}

/** Written into the store: asked for one by one they would take minutes. */
async function makeBad(ground: Ground, driver: string, count: number): Promise<void> {
  const first = `${BAD_PREFIX}-0`
  await volumes(ground, driver, { count: 1, prefix: BAD_PREFIX })
  await attach(ground, driver, { name: first, node: nodeOf(driver) })
  const originals = [PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS].map((resource) => ({ resource, name: first }))
  await copiesOfFirst(ground, { count, prefix: BAD_PREFIX }, originals)
}

async function eventWrites(subject: Subject): Promise<number> {
  const requests = await subject.requests()
  return requests.filter(({ verb, resource }) => isWrite(verb) && resource === 'events').length
}

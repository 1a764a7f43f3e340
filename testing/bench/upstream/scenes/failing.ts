import { CSI_NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { grantTo } from '../../../e2e/harness/api/user.ts'
import { eventually, pause } from '../../../e2e/harness/waiting.ts'
import type { Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { attach, attached, copiesOfFirst, growing, nodeOf, nodes, volumes } from '../objects.ts'
import { isWrite, type Measured } from '../subject.ts'
import { ATTACHED, ATTACHES, attachTimes, BETWEEN_ATTACHES_MS, percentile, volumeOf } from '../work.ts'
import { ask as askForVolume } from './provision.ts'

const HANG_MS = 15_000
const ATTACH_MS = 100
const BEHIND_DETACHES = 20
const WORKERS = 10

export const starvation: BenchScene = {
  name: 'starvation',
  title: `${BEHIND_DETACHES} attachments behind detaches that hang ${HANG_MS / 1000} s`,
  conditions:
    `Default flags, so ${WORKERS} workers. 40 detaches for both; 1,000 for ours alone, because the Go sidecar needs 25 ` +
    `minutes. An attach takes the driver ${ATTACH_MS} ms. Counted until the driver has answered the last.`,
  async run(bench) {
    await using ground = await bench.ground()
    const [few, many] = [bench.sized(40), bench.sized(1000)]
    await interleaved({ ...bench, rounds: 1 }, (side) => starve(bench, ground, { side, round: 1, detaches: few }))
    bench.printLine(`  ${many} detaches, ours`)
    await starve(bench, ground, { side: 'ours', round: 2, detaches: many })
  },
}

async function starve(
  { figures }: Bench,
  ground: BenchServer,
  { side, round, detaches }: { side: Side; round: number; detaches: number },
): Promise<void> {
  const driver = await ground.driver(`${side}-${round}.starved.example.com`)
  driver.on('ControllerUnpublishVolume', { reply: {}, after: HANG_MS })
  driver.on('ControllerPublishVolume', { reply: {}, after: ATTACH_MS })
  await nodes(ground, driver.name)
  const node = nodeOf(driver.name)
  await leave(ground, driver.name, { prefix: `${side}-${round}-old`, detaches })
  await volumes(ground, driver.name, { count: BEHIND_DETACHES, prefix: `${side}-${round}-new` })
  const subject = await ground.start({ side, app: 'attacher', driver })
  await subject.until('the first detach', async () => driver.callsOf('ControllerUnpublishVolume')[0])
  await pause(2000)
  const from = performance.now()
  await ground.each(BEHIND_DETACHES, (index) =>
    attach(ground, driver.name, { name: `${side}-${round}-new-${index}`, node }),
  )
  const answered = (): boolean =>
    driver.callsOf('ControllerPublishVolume').filter(({ code }) => code === 0).length >= BEHIND_DETACHES
  const within = 60_000 + (detaches / WORKERS) * HANG_MS * 2
  await eventually('an answer to all attaches', answered, { within, every: 10 })
  figures.note('attacher', side, {
    [`${detaches} detaches: all attached at the driver (s)`]: (performance.now() - from) / 1000,
  })
  await subject.kill()
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

/** Creates attached VolumeAttachments and deletes them, so that their detaches are pending. */
async function leave(ground: BenchServer, driver: string, { prefix, detaches }: { prefix: string; detaches: number }) {
  await volumes(ground, driver, { count: detaches, prefix })
  await ground.each(detaches, async (index) => {
    const name = `${prefix}-${index}`
    await attached(ground, driver, { name, node: nodeOf(driver) })
    await ground.api.delete(VOLUME_ATTACHMENTS, { name })
  })
}

const BAD = 10_000
const FAILING_MS = 60_000
const BAD_PREFIX = 'bad'
const THREE = '--controllers=attacher,resizer,provisioner'

/** The objects that fail. */
type Failing = 'attachments' | 'claims'

/** Measures how much failing attachments and claims slow down healthy attachments. */
export const failing: BenchScene = {
  name: 'failing',
  title: 'Attachments beside others that fail',
  conditions:
    'Ours alone, with default flags and the right to write events: the attacher, and one process of attacher, resizer ' +
    'and provisioner beside claims. The driver refuses the bad volumes at once with the same words. Healthy attaches ' +
    `are asked for every ${BETWEEN_ATTACHES_MS} ms, ${ATTACHES} in all, once the others have failed for ` +
    `${FAILING_MS / 1000} s; their time is that until ControllerPublishVolume.`,
  async run(bench) {
    for (const [of, bad] of [
      ['attachments', 0],
      ['attachments', bench.sized(BAD)],
      ['claims', bench.sized(BAD)],
    ] as const) {
      bench.printLine(`  beside ${bad} ${of}`)
      await beside(bench, of, bad)
    }
  },
}

async function beside(bench: Bench, of: Failing, bad: number): Promise<void> {
  await using ground = await bench.ground()
  // Our chart grants the attacher this rule for events. The RBAC roles of the Go attacher do not contain it.
  const events = [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]
  await grantTo('attacher', 'csi-attacher-event', { api: ground.api, rules: events })
  const driver = await ground.driver('failing.example.com')
  driver.on('ControllerPublishVolume', (call) =>
    volumeOf(call).startsWith(BAD_PREFIX) ? { code: 13, message: 'no such array' } : { reply: { publishContext: {} } },
  )
  driver.on('CreateVolume', { code: 13, message: 'no such array' })
  const count = bench.sized(ATTACHES)
  await nodes(ground, driver.name)
  await volumes(ground, driver.name, { count, prefix: ATTACHED })
  if (bad > 0) await makeBad(ground, driver.name, { of, count: bad })
  const onePod = of === 'claims' ? ({ together: 'pod', args: [THREE] } as const) : {}
  const subject = await ground.start({ side: 'ours', app: 'attacher', driver, ...onePod })
  await pause(bad > 0 ? FAILING_MS : FAILING_MS / 10)
  const [before, eventsBefore] = [subject.cost(), await eventWrites(subject)]
  const from = performance.now()
  const times = await attachTimes(ground, subject, { count })
  const seconds = (performance.now() - from) / 1000
  const after = subject.cost()
  const label = `beside ${bad} ${of} that fail: `
  bench.figures.note('attacher', 'ours', {
    [`${label}attach, median (ms)`]: percentile(times, 0.5),
    [`${label}attach, p99 (ms)`]: percentile(times, 0.99),
    [`${label}CPU per second (s)`]: (after.cpuSeconds - before.cpuSeconds) / seconds,
    [`${label}RSS at the beginning (MiB)`]: before.rss,
    [`${label}RSS at the end (MiB)`]: after.rss,
    [`${label}of it anonymous at the end (MiB)`]: after.anonymous,
    [`${label}events written per second`]: ((await eventWrites(subject)) - eventsBefore) / seconds,
  })
  await subject.stop()
}

/** Creates objects that fail. Writes them into etcd, because single requests would take minutes. */
async function makeBad(ground: BenchServer, driver: string, { of, count }: { of: Failing; count: number }) {
  const name = `${BAD_PREFIX}-0`
  if (of === 'claims') {
    await growing(ground, driver)
    await askForVolume(ground, driver, name)
    const originals = [{ resource: PERSISTENT_VOLUME_CLAIMS, name, namespace: 'default' }]
    return await copiesOfFirst(ground, { count, prefix: BAD_PREFIX }, originals)
  }
  await volumes(ground, driver, { count: 1, prefix: BAD_PREFIX })
  await attach(ground, driver, { name, node: nodeOf(driver) })
  const originals = [PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS].map((resource) => ({ resource, name }))
  await copiesOfFirst(ground, { count, prefix: BAD_PREFIX }, originals)
}

async function eventWrites(subject: Measured): Promise<number> {
  const requests = await subject.requests()
  return requests.filter(({ verb, resource }) => isWrite(verb) && resource === 'events').length
}

import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { eventually, pause } from '../../../e2e/harness/waiting.ts'
import type { Ground } from '../ground.ts'
import { attach, attached, nodeOf, nodes, volumes } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import type { Side } from '../side.ts'

const HANG_MS = 15_000
const ATTACH_MS = 100
const ATTACHES = 20
const WORKERS = 10

export const starvation: BenchScene = {
  name: 'starvation',
  title: `${ATTACHES} attachments behind detaches that hang ${HANG_MS / 1000} s`,
  conditions:
    `Default flags, so ${WORKERS} workers. 40 detaches for both; 1,000 for ours alone, for the original needs 25 ` +
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
  ground: Ground,
  { side, round, detaches }: { side: Side; round: number; detaches: number },
): Promise<void> {
  const driver = await ground.driver(`${side}-${round}.starved.example.com`)
  driver.on('ControllerUnpublishVolume', { reply: {}, after: HANG_MS })
  driver.on('ControllerPublishVolume', { reply: {}, after: ATTACH_MS })
  await nodes(ground, driver.name)
  const node = nodeOf(driver.name)
  await leave(ground, driver.name, { prefix: `${side}-${round}-old`, detaches })
  await volumes(ground, driver.name, { count: ATTACHES, prefix: `${side}-${round}-new` })
  const subject = await ground.start({ side, app: 'attacher', driver })
  await subject.until('the first detach', async () => driver.callsOf('ControllerUnpublishVolume')[0])
  await pause(2000)
  const from = performance.now()
  await ground.each(ATTACHES, (index) => attach(ground, driver.name, { name: `${side}-${round}-new-${index}`, node }))
  const answered = (): boolean =>
    driver.callsOf('ControllerPublishVolume').filter(({ code }) => code === 0).length >= ATTACHES
  const within = 60_000 + (detaches / WORKERS) * HANG_MS * 2
  await eventually('an answer to all attaches', answered, { within, every: 10 })
  figures.note('attacher', side, {
    [`${detaches} detaches: all attached at the driver (s)`]: (performance.now() - from) / 1000,
  })
  await subject.kill()
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

/** Attachments that wait to be undone. */
async function leave(ground: Ground, driver: string, { prefix, detaches }: { prefix: string; detaches: number }) {
  await volumes(ground, driver, { count: detaches, prefix })
  await ground.each(detaches, async (index) => {
    const name = `${prefix}-${index}`
    await attached(ground, driver, { name, node: nodeOf(driver) })
    await ground.api.delete(VOLUME_ATTACHMENTS, { name })
  })
}

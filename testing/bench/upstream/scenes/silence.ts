import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { Ground } from '../ground.ts'
import { Relay } from '../relay.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import type { Side } from '../side.ts'
import type { Subject } from '../subject.ts'
import { giveWork, prepareWork, warmUp } from '../work.ts'

const WITHIN_MS = 400_000
/** The original would lose its Lease because of the silence, and exit. */
const ARGS = ['--leader-election=false']

export const silence: BenchScene = {
  name: 'silence',
  title: 'Connections that fall silent',
  conditions:
    'Nothing closes them, what is sent on them is taken, and new ones work: all that are open at a moment, and the ' +
    'watch of VolumeAttachments alone, for which the original has no connection of its own (HTTP/2). Then one attachment. Without ' +
    'leader election: with it the original loses its lease and ends.',
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, (side, round) => allSilent(bench, ground, { side, round }))
    for (let round = 1; round <= bench.rounds; round += 1) await oneSilent(bench, ground, round)
  },
}

async function allSilent(bench: Bench, ground: Ground, { side, round }: { side: Side; round: number }): Promise<void> {
  await using relay = await Relay.open(ground.cluster.url)
  const driver = await ground.driver(`${side}-${round}.silence.example.com`)
  await prepareWork(ground, 'attacher', driver.name)
  const subject = await ground.start({ side, app: 'attacher', driver, args: ARGS, server: relay.url })
  await warmUp(ground, subject)
  relay.silence()
  bench.figures.note('attacher', side, { 'all silent: attached (s)': await untilAttached(ground, subject) })
  await subject.kill()
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

async function oneSilent(bench: Bench, ground: Ground, round: number): Promise<void> {
  const driver = await ground.driver(`one-${round}.silence.example.com`)
  const gate = await ground.gate()
  await prepareWork(ground, 'attacher', driver.name)
  const subject = await ground.start({ side: 'ours', app: 'attacher', driver, args: ARGS, server: gate.url })
  await warmUp(ground, subject)
  gate.muteWatches('volumeattachments')
  bench.figures.note('attacher', 'ours', { 'one silent: attached (s)': await untilAttached(ground, subject) })
  await subject.kill()
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

async function untilAttached(ground: Ground, subject: Subject): Promise<number> {
  const started = performance.now()
  const name = `${subject.driver.name}-after`
  await giveWork(ground, subject, name)
  const isDone = async (): Promise<boolean> =>
    (await ground.api.get(VOLUME_ATTACHMENTS, { name: `${name}-0` })).status?.attached === true
  await subject.until('the attachment', isDone, WITHIN_MS)
  return (performance.now() - started) / 1000
}

import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Ground } from '../ground.ts'
import { attach, moreVolumes, nodeOf, nodes, volumes } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { warmUp, workCalls } from '../work.ts'
import { percentile, timesToCall } from './latency.ts'
import { OPENED, PER_OBJECT_MS, phase, runWaves, type Storm, WAVES, type Wave, withoutLimits } from './storm.ts'

const NODES = 50

export const attachStorm: BenchScene = {
  name: 'attach-storm',
  title: '1,000 attachments at once, with raised limits',
  conditions:
    `${OPENED.attacher.join(' ')}; a driver that answers at once; ${NODES} nodes. Three waves in one process, each with ` +
    'other volumes: 1,000 attaches and, when all is done, their detaches. The first wave compiles.',
  async run(bench) {
    await using ground = await bench.ground()
    const count = bench.sized(1000)
    await interleaved(bench, (side, round) =>
      storm(bench, ground, { side, round, count, args: OPENED.attacher, waves: WAVES }),
    )
  },
}

export const attachStormDefaults: BenchScene = {
  name: 'attach-storm-defaults',
  title: 'Attachments at once, no limits given',
  conditions:
    'No flag for rate or workers: the original then sends 5 requests a second, ours as many as the server grants. ' +
    '100 for both; 1,000 for ours alone, for the original needs ten minutes.',
  async run(bench) {
    await using ground = await bench.ground()
    await withoutLimits(bench, (how) => storm(bench, ground, how))
  },
}

async function storm(bench: Bench, ground: Ground, how: Storm): Promise<void> {
  const { side, round, count, args, waves } = how
  const driver = await ground.driver(`${side}-${round}.attach.example.com`)
  const prefix = `${side}-${round}`
  await nodes(ground, driver.name, NODES)
  await volumes(ground, driver.name, { count: 1, prefix })
  await moreVolumes(ground, { count: count * waves, prefix })
  const subject = await ground.start({ side, app: 'attacher', driver, args })
  await warmUp(ground, subject)
  await runWaves(how, subject, (wave) => oneWave(bench, ground, wave))
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

/** Attaches all of them and detaches them again. */
async function oneWave({ figures }: Bench, ground: Ground, { subject, names, how, label }: Wave): Promise<void> {
  const { driver } = subject
  const count = names.length
  using seen = await ground.observe(VOLUME_ATTACHMENTS)
  const callsBefore = workCalls('attacher', driver).length
  const isOwn = ({ spec }: VolumeAttachment): boolean => spec.attacher === driver.name
  const within = 30_000 + count * PER_OBJECT_MS
  const requested = new Map<string, number>()
  const attaching = await phase(subject, async () => {
    await ground.each(count, async (index) => {
      const name = names[index] ?? ''
      requested.set(name, Date.now())
      await attach(ground, driver.name, { name, node: nodeOf(driver.name, index % NODES) })
    })
    await seen.until('are attached', (va) => isOwn(va) && va.status?.attached === true, { count, within })
  })
  const calls = workCalls('attacher', driver).slice(callsBefore)
  const detaching = await phase(subject, async () => {
    await ground.each(count, (index) => ground.api.delete(VOLUME_ATTACHMENTS, { name: names[index] ?? '' }))
    await seen.until('are left', isOwn, { count: 0, within })
  })
  if (label === undefined) return
  figures.note('attacher', how.side, {
    [`${label}attached (s)`]: attaching.seconds,
    [`${label}detached (s)`]: detaching.seconds,
  })
  if (how.waves === 1) return
  figures.note('attacher', how.side, {
    [`${label}request to ControllerPublishVolume, median (s)`]: percentile(timesToCall(calls, requested), 0.5) / 1000,
    [`${label}CPU per 1,000 attaches (s)`]: (attaching.cpuSeconds * 1000) / count,
    [`${label}CPU per 1,000 detaches (s)`]: (detaching.cpuSeconds * 1000) / count,
    [`${label}writes per attach, the first of a volume`]: attaching.writes.length / count,
    [`${label}writes per detach`]: detaching.writes.length / count,
    [`${label}ControllerPublishVolume per attach`]: calls.length / count,
    [`${label}RSS at its peak (MiB)`]: subject.cost().peak,
  })
}

import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Ground } from '../ground.ts'
import { attach, nodeOf, nodes, volumes } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { warmUp, workCalls } from '../work.ts'
import { OPENED, PER_OBJECT_MS, phase, type Storm, withoutLimits } from './storm.ts'

const NODES = 50

export const attachStorm: BenchScene = {
  name: 'attach-storm',
  title: '1,000 attachments at once, with raised limits',
  conditions: `${OPENED.attacher.join(' ')}; a driver that answers at once; ${NODES} nodes.`,
  async run(bench) {
    await using ground = await bench.ground()
    const count = bench.sized(1000)
    await interleaved(bench, (side, round) => storm(bench, ground, { side, round, count, args: OPENED.attacher }))
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

async function storm({ figures }: Bench, ground: Ground, how: Storm): Promise<void> {
  const { side, round, count, args, label = '' } = how
  const driver = await ground.driver(`${side}-${round}.attach.example.com`)
  const prefix = `${side}-${round}`
  const name = (index: number): string => `${prefix}-${index}`
  await nodes(ground, driver.name, NODES)
  await volumes(ground, driver.name, { count, prefix })
  const subject = await ground.start({ side, app: 'attacher', driver, args })
  await warmUp(ground, subject)
  using seen = await ground.observe(VOLUME_ATTACHMENTS)
  const callsBefore = workCalls('attacher', driver).length
  const isOwn = ({ spec }: VolumeAttachment): boolean => spec.attacher === driver.name
  const within = 30_000 + count * PER_OBJECT_MS
  const attaching = await phase(subject, async () => {
    await ground.each(count, (index) =>
      attach(ground, driver.name, { name: name(index), node: nodeOf(driver.name, index % NODES) }),
    )
    await seen.until('are attached', (va) => isOwn(va) && va.status?.attached === true, { count, within })
  })
  const publishes = workCalls('attacher', driver).length - callsBefore
  const detaching = await phase(subject, async () => {
    await ground.each(count, (index) => ground.api.delete(VOLUME_ATTACHMENTS, { name: name(index) }))
    await seen.until('are left', isOwn, { count: 0, within })
  })
  const each = {
    'CPU per 1,000 attaches (s)': (attaching.cpuSeconds * 1000) / count,
    'CPU per 1,000 detaches (s)': (detaching.cpuSeconds * 1000) / count,
    'writes per attach, the first of a volume': attaching.writes.length / count,
    'writes per detach': detaching.writes.length / count,
    'ControllerPublishVolume per attach': publishes / count,
  }
  figures.note('attacher', side, {
    [`${label}attached (s)`]: attaching.seconds,
    [`${label}detached (s)`]: detaching.seconds,
    ...(label === '' ? { ...each, 'RSS at its peak (MiB)': subject.cost().peak } : {}),
  })
  await subject.stop()
  await ground.clear(VOLUME_ATTACHMENTS, PERSISTENT_VOLUMES, CSI_NODES)
}

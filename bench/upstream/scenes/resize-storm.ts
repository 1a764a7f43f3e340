import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '@csi-sidecars/kube-types'
import type { Ground } from '../ground.ts'
import { bound, growing, raise } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { warmUp, workCalls } from '../work.ts'
import { OPENED, PER_OBJECT_MS, phase, type Storm, withoutLimits } from './storm.ts'

export const resizeStorm: BenchScene = {
  name: 'resize-storm',
  title: '1,000 claims raised at once, with raised limits',
  conditions: `${OPENED.resizer.join(' ')}; a driver that answers at once and needs nothing of the node.`,
  async run(bench) {
    await using ground = await bench.ground()
    const count = bench.sized(1000)
    await interleaved(bench, (side, round) => storm(bench, ground, { side, round, count, args: OPENED.resizer }))
  },
}

export const resizeStormDefaults: BenchScene = {
  name: 'resize-storm-defaults',
  title: 'Claims raised at once, no limits given',
  conditions: 'As with attachments: 100 for both; 1,000 for ours alone, for the original needs eleven minutes.',
  async run(bench) {
    await using ground = await bench.ground()
    await withoutLimits(bench, (how) => storm(bench, ground, how))
  },
}

async function storm({ figures }: Bench, ground: Ground, how: Storm): Promise<void> {
  const { side, round, count, args, label = '' } = how
  const driver = await ground.driver(`${side}-${round}.resize.example.com`)
  const name = (index: number): string => `${side}-${round}-${index}`
  await growing(ground, driver.name)
  await ground.each(count, (index) => bound(ground, driver.name, { name: name(index) }))
  const subject = await ground.start({ side, app: 'resizer', driver, args })
  await warmUp(ground, subject)
  using seen = await ground.observe(PERSISTENT_VOLUME_CLAIMS)
  const callsBefore = workCalls('resizer', driver).length
  const resizing = await phase(subject, async () => {
    await ground.each(count, (index) => raise(ground, name(index)))
    // The one with which it was warmed up counts too.
    await seen.until('are resized', ({ status }) => status?.capacity?.['storage'] === '2Gi', {
      count: count + 1,
      within: 30_000 + count * PER_OBJECT_MS,
    })
  })
  const each = {
    'CPU per 1,000 (s)': (resizing.cpuSeconds * 1000) / count,
    'writes per claim': resizing.writes.length / count,
    'own conflicts per claim': resizing.conflicts / count,
    'event writes per claim': resizing.events / count,
    'ControllerExpandVolume per claim': (workCalls('resizer', driver).length - callsBefore) / count,
    'RSS at its peak (MiB)': subject.cost().peak,
  }
  figures.note('resizer', side, { [`${label}resized (s)`]: resizing.seconds, ...(label === '' ? each : {}) })
  await subject.stop()
  await ground.clear(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES)
}

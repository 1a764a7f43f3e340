import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, type PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import type { Ground } from '../ground.ts'
import { bound, growing, moreBound, raise } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { warmUp, workCalls } from '../work.ts'
import { percentile, timesToCall } from './latency.ts'
import { OPENED, PER_OBJECT_MS, phase, runWaves, type Storm, WAVES, type Wave, withoutLimits } from './storm.ts'

export const resizeStorm: BenchScene = {
  name: 'resize-storm',
  title: '1,000 claims raised at once, with raised limits',
  conditions:
    `${OPENED.resizer.join(' ')}; a driver that answers at once and needs nothing of the node. Three waves in one ` +
    'process, each of 1,000 other claims. The first wave compiles.',
  async run(bench) {
    await using ground = await bench.ground()
    const count = bench.sized(1000)
    await interleaved(bench, (side, round) =>
      storm(bench, ground, { side, round, count, args: OPENED.resizer, waves: WAVES }),
    )
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

async function storm(bench: Bench, ground: Ground, how: Storm): Promise<void> {
  const { side, round, count, args, waves } = how
  const driver = await ground.driver(`${side}-${round}.resize.example.com`)
  const prefix = `${side}-${round}`
  await growing(ground, driver.name)
  await bound(ground, driver.name, { name: `${prefix}-0` })
  await moreBound(ground, { count: count * waves, prefix })
  const subject = await ground.start({ side, app: 'resizer', driver, args })
  await warmUp(ground, subject)
  await runWaves(how, subject, (wave) => oneWave(bench, ground, wave))
  await ground.clear(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES)
}

async function oneWave({ figures }: Bench, ground: Ground, { subject, names, how, label }: Wave): Promise<void> {
  const { driver } = subject
  const count = names.length
  using seen = await ground.observe(PERSISTENT_VOLUME_CLAIMS)
  const own = new Set(names)
  const callsBefore = workCalls('resizer', driver).length
  const requested = new Map<string, number>()
  const resizing = await phase(subject, async () => {
    await ground.each(count, async (index) => {
      const name = names[index] ?? ''
      requested.set(name, Date.now())
      await raise(ground, name)
    })
    const isResized = ({ metadata, status }: PersistentVolumeClaim): boolean =>
      own.has(metadata?.name ?? '') && status?.capacity?.['storage'] === '2Gi'
    await seen.until('are resized', isResized, { count, within: 30_000 + count * PER_OBJECT_MS })
  })
  const calls = workCalls('resizer', driver).slice(callsBefore)
  if (label === undefined) return
  figures.note('resizer', how.side, { [`${label}resized (s)`]: resizing.seconds })
  if (how.waves === 1) return
  figures.note('resizer', how.side, {
    [`${label}request to ControllerExpandVolume, median (s)`]: percentile(timesToCall(calls, requested), 0.5) / 1000,
    [`${label}CPU per 1,000 (s)`]: (resizing.cpuSeconds * 1000) / count,
    [`${label}writes per claim`]: resizing.writes.length / count,
    [`${label}own conflicts per claim`]: resizing.conflicts / count,
    [`${label}event writes per claim`]: resizing.events / count,
    [`${label}ControllerExpandVolume per claim`]: calls.length / count,
    [`${label}RSS at its peak (MiB)`]: subject.cost().peak,
  })
}

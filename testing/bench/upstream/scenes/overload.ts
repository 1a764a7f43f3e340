import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES } from '@csi-sidecars/kube-types'
import type { DriverReply, FakeDriver } from '../../../e2e/harness/driver/driver.ts'
import { pause } from '../../../e2e/harness/waiting.ts'
import type { Side } from '../figures.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { growing } from '../objects.ts'
import { ask, LIMITS } from './provision.ts'

const CLAIMS = 500
/** The time that the back end works on each call. */
const CALL_MS = 500
const DEADLINE_MS = 10_000
/** A back end that was never idle would need half of this time for all claims. */
const FACTOR = 2
const EVERY_MS = 250

export const overload: BenchScene = {
  name: 'overload',
  title: `${CLAIMS} claims for a back end that creates two volumes a second`,
  conditions:
    `${LIMITS.join(' ')} --timeout=${DEADLINE_MS / 1000}s. The back end works on one call after the other, ` +
    `${CALL_MS} ms each. A call that has waited longer than its deadline still takes its time, and its volume is not ` +
    `created. Measured until all PersistentVolumes exist, at most for ${FACTOR} times the time that all calls need.`,
  async run(bench) {
    await using ground = await bench.ground()
    await interleaved(bench, (side) => createAll(bench, ground, side))
  },
}

async function createAll({ figures, sized }: Bench, ground: BenchServer, side: Side): Promise<void> {
  const count = sized(CLAIMS)
  const driver = await ground.driver(`${side}.overloaded.example.com`)
  await growing(ground, driver.name)
  const args = [...LIMITS, `--timeout=${DEADLINE_MS / 1000}s`]
  const subject = await ground.start({ side, app: 'provisioner', driver, args })
  await ask(ground, driver.name, `${side}-warm-up`)
  await subject.until('the first volume', async () => (await volumes(ground))[0], 60_000)
  workSlowly(driver)
  const from = performance.now()
  const seconds = (): number => (performance.now() - from) / 1000
  await ground.each(count, (index) => ask(ground, driver.name, `${side}-${index}`))
  const endSeconds = (FACTOR * count * CALL_MS) / 1000
  while ((await volumes(ground)).length < count + 1 && seconds() < endSeconds) await pause(EVERY_MS)
  const created = (await volumes(ground)).length - 1
  const calls = driver.callsOf('CreateVolume')
  figures.note('provisioner', side, {
    'claims with a volume (%)': (created / count) * 100,
    'time (s)': seconds(),
    'calls per volume': calls.length / Math.max(1, created),
    'calls that ended at their deadline (%)':
      (calls.filter(({ abandonedAt }) => abandonedAt !== undefined).length / calls.length) * 100,
  })
  await subject.kill()
  await ground.clear(PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES)
}

function volumes(ground: BenchServer): Promise<readonly unknown[]> {
  return ground.api.list(PERSISTENT_VOLUMES)
}

/** Lets the driver work on one CreateVolume call after the other. */
function workSlowly(driver: FakeDriver): void {
  let freeAt = 0
  driver.on('CreateVolume', (): DriverReply | 'hang' => {
    const now = performance.now()
    freeAt = Math.max(now, freeAt) + CALL_MS
    const after = freeAt - now
    return after > DEADLINE_MS ? 'hang' : { reply: {}, after }
  })
}

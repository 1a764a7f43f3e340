import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { pause } from '../../../e2e/harness/waiting.ts'
import { makeCopies, mustBeCached, mustHold } from '../copies.ts'
import type { Ground } from '../ground.ts'
import { attached, finalizerOf, nodeOf, nodes, volumes } from '../objects.ts'
import { type Bench, type BenchScene, interleaved } from '../scene.ts'
import { DRIVER, startWithWork } from './loaded.ts'

/** The total numbers of objects: half are PersistentVolumes, half VolumeAttachments. */
const SIZES = [20_000, 60_000, 200_000]
const FIRST = 'first'
const SETTLED_MS = 25_000
const DIGESTED_MS = 10_000

/** The growth of time and memory with the number of objects that the attacher holds. */
export const sizes: BenchScene = {
  name: 'sizes',
  title: 'Ever more objects',
  conditions:
    `PersistentVolumes and as many VolumeAttachments of one driver, ${SIZES.map((size) => size.toLocaleString('en')).join(', ')} ` +
    `in all. One attach waits when the attacher starts. Its peak until that; memory at rest ${SETTLED_MS / 1000} s later, once.`,
  async run(bench) {
    await using ground = await bench.ground()
    await makeFirst(ground)
    let made = 1
    for (const size of SIZES.map((each) => bench.sized(each))) {
      await grow(ground, { from: made, to: size / 2 })
      made = size / 2
      const label = `${size.toLocaleString('en')}: `
      await interleaved(bench, async (side, round) => {
        const namespace = `${side}-${size}-${round}`
        await ground.namespace(namespace)
        await measure(bench, ground, { side, round: `${size}-${round}`, label, settles: round === 1 })
      })
    }
  },
}

async function makeFirst(ground: Ground): Promise<void> {
  const metadata = { finalizers: ['kubernetes.io/pv-protection', finalizerOf(DRIVER)] }
  await nodes(ground, DRIVER)
  await volumes(ground, DRIVER, { count: 1, prefix: FIRST })
  await ground.api.merge(PERSISTENT_VOLUMES, { name: `${FIRST}-0` }, { metadata })
  await attached(ground, DRIVER, { name: `${FIRST}-0`, node: nodeOf(DRIVER) })
}

async function grow(ground: Ground, { from, to }: { from: number; to: number }): Promise<void> {
  const resources = [PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS]
  await makeCopies(ground, {
    originals: resources.map((resource) => ({ resource, name: `${FIRST}-0` })),
    count: to - from,
    from,
    rename: (text, number) => text.replaceAll(`${FIRST}-0`, `set-${number}`),
  })
  // The objects that earlier rounds requested exist, too.
  for (const resource of resources) {
    await mustHold(ground, resource, { count: to, atLeast: true })
    await mustBeCached(ground, resource)
  }
  await pause(DIGESTED_MS)
}

type Measured = Omit<Parameters<typeof startWithWork>[2], 'app'> & {
  /** Memory at rest is measured once: it differs by a few percent from round to round, and takes long. */
  readonly settles: boolean
}

async function measure(bench: Bench, ground: Ground, what: Measured): Promise<void> {
  const subject = await startWithWork(bench, ground, { app: 'attacher', ...what })
  bench.figures.note('attacher', what.side, { [`${what.label}RSS at its peak (MiB)`]: subject.cost().peak })
  if (what.settles) {
    await pause(SETTLED_MS)
    const { rss, anonymous } = subject.cost()
    bench.figures.note('attacher', what.side, {
      [`${what.label}RSS settled (MiB)`]: rss,
      [`${what.label}of it anonymous (MiB)`]: anonymous,
    })
  }
  await subject.stop()
}

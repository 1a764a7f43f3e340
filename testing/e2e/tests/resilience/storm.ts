import { deepStrictEqual as equal, ok } from 'node:assert'
import { existsSync } from 'node:fs'
import { inParallel } from '@csi-sidecars/base'
import { VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { memoryLimit, memoryOf } from '../../harness/process/memory.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import {
  type AttacherScene,
  attach,
  publishes,
  scene,
  suffixes,
  unpublishes,
  volumeCalls,
} from '../../rows/attacher/scene.ts'
import { ask, createBoundClaim, expands, resized, scene as resizerScene } from '../../rows/resizer/scene.ts'

const attacher = testsOf('attacher', 'storm')
const resizer = testsOf('resizer', 'storm')

const COUNT = 300

/** The number of objects that are created concurrently. */
const AT_ONCE = 12
const SUFFIXES = suffixes(COUNT)

const attachmentsOf = async (t: TestContext): Promise<readonly VolumeAttachment[]> =>
  (await t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === t.driverName)

/** Attaches many volumes, and waits until all are attached. */
async function attachMany(t: TestContext, at: AttacherScene, all: readonly string[]): Promise<void> {
  await inParallel(AT_ONCE, all, (suffix) => attach(t, at, { suffix }))
  const done = async (): Promise<boolean> => (await attachmentsOf(t)).every(({ status }) => status?.attached === true)
  await eventually('all attached', done, { within: 120_000, every: 500 })
  equal(publishes(at).length, all.length)
}

attacher(
  `each of ${COUNT} attaches and detaches takes one driver call and no unnecessary write`,
  { only: 'ours', within: 240_000 },
  async (t) => {
    const at = await scene(t, { args: ['-v=2'] })
    await attachMany(t, at, SUFFIXES)
    const writes = at.attacher.gate.writes().length
    ok(writes <= 3 * COUNT, `${writes} writes for ${COUNT} attaches`)
    await inParallel(AT_ONCE, SUFFIXES, (suffix) => t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) }))
    const gone = async (): Promise<boolean> => (await attachmentsOf(t)).length === 0
    await eventually('all gone', gone, { within: 120_000, every: 500 })
    equal(unpublishes(at).length, COUNT)
    equal(at.attacher.gate.writes().length - writes, COUNT)
    equal(
      volumeCalls(at.driver).filter(({ code }) => code !== 0),
      [],
    )
    equal(
      at.attacher.gate.writes().filter(({ code }) => code >= 400 && code !== 429),
      [],
    )
  },
)

resizer(
  `each of ${COUNT} expansions takes one driver call and at most three writes`,
  { only: 'ours', within: 240_000 },
  async (t) => {
    const at = await resizerScene(t, { args: ['-v=2'] })
    await inParallel(AT_ONCE, SUFFIXES, (suffix) => createBoundClaim(t, { suffix }))
    await inParallel(AT_ONCE, SUFFIXES, (suffix) => ask(t, '2Gi', t.name(`pvc${suffix}`)))
    for (const suffix of SUFFIXES) await resized(t, '2Gi', t.name(`pvc${suffix}`))
    equal(expands(at).length, COUNT)
    const writes = await at.resizer.gate.settledWrites()
    equal(
      writes.filter(({ code }) => code === 409),
      [],
    )
    ok(writes.length <= 3 * COUNT, `${writes.length} writes for ${COUNT} claims`)
  },
)

const LIMIT_MIB = 80
/** The limit of anonymous memory, which the test measures if it cannot create a control group. */
const ANONYMOUS_MIB = 50

attacher(
  `1,000 attaches need at most ${LIMIT_MIB} MiB of memory`,
  { only: 'ours', notOne: true, within: 300_000, alone: 'machine', long: true },
  async (t) => {
    const limit = memoryLimit(LIMIT_MIB, { name: t.id, program: t.executable(), folder: t.folder })
    const args = ['-v=2', '--leader-election', '--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100']
    const at = await scene(t, { args, ...(limit && { binary: limit.binary }) })
    const peak = anonymousPeak(at.attacher)
    await attachMany(t, at, suffixes(1000))
    equal(at.attacher.exit, undefined)
    const anonymous = peak()
    if (limit === undefined) ok(anonymous <= ANONYMOUS_MIB, `${anonymous} MiB anonymous`)
    else ok(limit.peakMib() <= LIMIT_MIB)
    equal((await at.attacher.endBy('SIGTERM')).code, 0)
    limit?.remove()
  },
)

/** Samples the memory of a process. The returned function ends the sampling and returns the maximum in MiB. */
function anonymousPeak({ process: { pid } }: RunningSidecar): () => number {
  let most = 0
  const timer = setInterval(() => {
    if (!existsSync(`/proc/${pid}/status`)) return clearInterval(timer)
    most = Math.max(most, memoryOf(pid ?? 0).anonymous)
  }, 100)
  return () => {
    clearInterval(timer)
    return most
  }
}

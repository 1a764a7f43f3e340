import { deepStrictEqual as equal, ok } from 'node:assert'
import { existsSync, readFileSync } from 'node:fs'
import { VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { RunningSidecar } from '../../harness/context.ts'
import { memoryLimit } from '../../harness/process/memory-limit.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { attach, scene, volumeCalls } from '../attacher/scene.ts'
import { ask, bound, expands, resized, scene as resizerScene } from '../resizer/scene.ts'

const attacher = testsOf('attacher', 'storm')
const resizer = testsOf('resizer', 'storm')

const COUNT = 300

/** `make` for each of the suffixes, a few at a time. */
async function inParallel(suffixes: readonly string[], make: (suffix: string) => Promise<unknown>): Promise<void> {
  const left = [...suffixes]
  const worker = async (): Promise<void> => {
    for (let suffix = left.shift(); suffix !== undefined; suffix = left.shift()) await make(suffix)
  }
  await Promise.all(Array.from({ length: 12 }, worker))
}

const suffixes = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `-${index}`)
const SUFFIXES = suffixes(COUNT)

attacher(
  `${COUNT} attachments come and go: one call and the fewest writes each`,
  { only: 'ours', within: 240_000, alone: true },
  async (t) => {
    const at = await scene(t, { args: ['-v=2'] })
    await inParallel(SUFFIXES, (suffix) => attach(t, at, { suffix }))
    const mine = async () => (await t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === t.driverName)
    const allAttached = async (): Promise<boolean> => (await mine()).every(({ status }) => status?.attached === true)
    await eventually('all attached', allAttached, { within: 60_000, every: 500 })
    equal(at.driver.callsOf('ControllerPublishVolume').length, COUNT)
    const writes = at.attacher.gate.writes().length
    ok(writes <= 3 * COUNT, `${writes} writes for ${COUNT} attaches`)
    await inParallel(SUFFIXES, (suffix) => t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(`va${suffix}`) }))
    await eventually('all gone', async () => (await mine()).length === 0, { within: 60_000, every: 500 })
    equal(at.driver.callsOf('ControllerUnpublishVolume').length, COUNT)
    equal(at.attacher.gate.writes().length - writes, COUNT)
    equal(
      volumeCalls(at.driver).every(({ code }) => code === 0),
      true,
    )
    equal(
      at.attacher.gate
        .writes()
        .filter(({ code }) => code >= 400 && code !== 429)
        .map(({ code, path }) => `${code} ${path}`),
      [],
    )
  },
)

resizer(
  `${COUNT} claims are raised: one call, three writes and no conflict each`,
  { only: 'ours', within: 240_000, alone: true },
  async (t) => {
    const at = await resizerScene(t, { args: ['-v=2'] })
    await inParallel(SUFFIXES, (suffix) => bound(t, { suffix }))
    await inParallel(SUFFIXES, (suffix) => ask(t, '2Gi', t.name(`pvc${suffix}`)))
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
/** Without a control group: the limit of memory that is not backed by files. */
const ANONYMOUS_MIB = 50

attacher(
  `1,000 attachments within a memory limit of ${LIMIT_MIB} MiB`,
  { only: 'ours', notOne: true, within: 300_000, alone: true, long: true },
  async (t) => {
    const limit = memoryLimit(LIMIT_MIB, { name: t.id, program: t.executable(), folder: t.folder })
    const args = ['-v=2', '--leader-election', '--kube-api-qps=1000', '--kube-api-burst=1000', '--worker-threads=100']
    const at = await scene(t, { args, ...(limit && { binary: limit.binary }) })
    const all = suffixes(1000)
    const peak = anonymousPeak(at.attacher)
    await inParallel(all, (suffix) => attach(t, at, { suffix }))
    const mine = async () => (await t.api.list(VOLUME_ATTACHMENTS)).filter(({ spec }) => spec.attacher === t.driverName)
    const allAttached = async (): Promise<boolean> => (await mine()).every(({ status }) => status?.attached === true)
    await eventually('all attached', allAttached, { within: 60_000, every: 500 })
    equal(at.driver.callsOf('ControllerPublishVolume').length, all.length)
    equal(at.attacher.exit, undefined)
    const anonymous = peak()
    if (limit === undefined) ok(anonymous <= ANONYMOUS_MIB, `${anonymous} MiB anonymous`)
    else ok(limit.peakMib() <= LIMIT_MIB)
    at.attacher.signal('SIGTERM')
    equal((await at.attacher.end()).code, 0)
    limit?.remove()
  },
)

/** Samples the memory of the process; the returned function ends that and returns the maximum in MiB. */
function anonymousPeak({ process: { pid } }: RunningSidecar): () => number {
  let most = 0
  const status = `/proc/${pid}/status`
  const timer = setInterval(() => {
    if (!existsSync(status)) return clearInterval(timer)
    const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))?.[1]
    most = Math.max(most, Number(kib) / 1024)
  }, 100)
  return () => {
    clearInterval(timer)
    return most
  }
}

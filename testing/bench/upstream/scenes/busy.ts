import { fork } from 'node:child_process'
import { once } from 'node:events'
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { pause } from '../../../e2e/harness/waiting.ts'
import { makeCopies, type Original, type PutRequest, stored } from '../copies.ts'
import { type Bench, type BenchScene, type BenchServer, interleaved } from '../ground.ts'
import { attached, createBoundClaim, finalizerOf, growing, moreVolumes, nodeOf, nodes, volumes } from '../objects.ts'
import { stopAll } from '../subject.ts'
import { attachTimes, BETWEEN_ATTACHES_MS, percentile } from '../work.ts'
import { BEAT, type Beats, type Written } from './busy-writer.ts'
import { type Layout, startLayout } from './loaded.ts'

const OUR_DRIVER = 'busy.example.com'
const FOREIGN = 'other.example.com'
/** Changes per second to objects of another driver, for each kind of object. */
const FOREIGN_PER_SECOND = 500
const OWN_PER_SECOND = 50
const KINDS = 3
const SEEN_PER_SECOND = 2 * (FOREIGN_PER_SECOND + OWN_PER_SECOND)
/** The number of another driver's objects, for each kind. */
const FOREIGN_OBJECTS = 1000
const OWN_OBJECTS = 100
/** The duration of the CPU measurement in each round. */
const COUNTED_MS = 20_000
const ATTACHES = 50
const QUIET_MS = 8000
/** Raised rate limits. With the default limits, the Go sidecar could not keep up with the changes. */
const LIMITS = ['--kube-api-qps=1000', '--kube-api-burst=1000']

/** Measures leading sidecars in a cluster where most changes concern objects of another driver. */
export const busy: BenchScene = {
  name: 'busy',
  title: 'A busy cluster',
  conditions:
    `${LIMITS.join(' ')}. Each second each sidecar sees 1,000 changes of objects of another driver and 100 of its own ` +
    'driver that change nothing for it (an annotation): of PersistentVolumes and VolumeAttachments, or ' +
    'PersistentVolumes and PersistentVolumeClaims. They are written into etcd by a process of their own, since an API ' +
    `server on two cores would not carry so many requests. CPU of ${COUNTED_MS / 1000} s in each round; then an attach ` +
    `is requested every ${BETWEEN_ATTACHES_MS} ms beside them, ${ATTACHES} in all, and its time is that until ` +
    'ControllerPublishVolume. CPU for both is that for 1,000 changes seen by each.',
  async run(bench) {
    await using ground = await bench.ground()
    const objects = await populate(bench, ground)
    const perSecond = (KINDS * SEEN_PER_SECOND) / 2
    await using writer = startWriter({ etcdUrl: ground.cluster.etcdUrl, objects, perSecond })
    await interleaved(bench, async (side, round) => {
      const layouts: readonly Layout[] = side === 'ours' ? ['two', 'one'] : ['original']
      for (const layout of layouts) await measure(bench, ground, { layout, round, writer })
    })
  },
}

interface Measured {
  readonly layout: Layout
  readonly round: number
  readonly writer: Writer
}

async function measure(bench: Bench, ground: BenchServer, { layout, round, writer }: Measured): Promise<void> {
  const { figures } = bench
  const name = `${layout}-${round}`
  const count = bench.sized(ATTACHES)
  await ground.namespace(name)
  await volumes(ground, OUR_DRIVER, { count: 1, prefix: name })
  await moreVolumes(ground, { count, prefix: name })
  const subjects = await startLayout(ground, layout, { driver: OUR_DRIVER, leaseNamespace: name, args: LIMITS })
  await pause(QUIET_MS)
  const [before, writtenBefore] = [subjects.map((subject) => subject.cost()), await writer.written()]
  const from = performance.now()
  await pause(bench.sized(COUNTED_MS))
  const [after, writtenAfter] = [subjects.map((subject) => subject.cost()), await writer.written()]
  const seconds = (performance.now() - from) / 1000
  // Each sidecar watches two of the three kinds of objects that change.
  const seen = ((writtenAfter - writtenBefore) * 2) / KINDS
  const cpu = after.map(({ cpuSeconds }, index) => ((cpuSeconds - (before[index]?.cpuSeconds ?? 0)) * 1000) / seen)
  const [attacher] = subjects
  if (attacher === undefined) throw new Error(`no process for ${layout}`)
  const times = await attachTimes(ground, attacher, { count, prefix: name })
  const side = layout === 'original' ? 'original' : 'ours'
  const suffix = layout === 'two' ? ', two processes' : ''
  if (layout !== 'one') {
    for (const [index, { app }] of subjects.entries()) {
      figures.note(app, side, {
        'changes seen per second': seen / seconds,
        'CPU per 1,000 changes (s)': cpu[index] ?? Number.NaN,
        'RSS (MiB)': after[index]?.rss ?? Number.NaN,
        'of it anonymous (MiB)': after[index]?.anonymous ?? Number.NaN,
      })
    }
  }
  figures.note('both', side, {
    [`CPU per 1,000 changes (s)${suffix}`]: sum(cpu),
    [`RSS (MiB)${suffix}`]: sum(after.map(({ rss }) => rss)),
    [`of it anonymous (MiB)${suffix}`]: sum(after.map(({ anonymous }) => anonymous)),
    [`attach beside them, median (ms)${suffix}`]: percentile(times, 0.5),
    [`attach beside them, p95 (ms)${suffix}`]: percentile(times, 0.95),
  })
  await stopAll(subjects)
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, figure) => total + figure, 0)
}

/** Creates the objects that the writer process changes. Returns their etcd entries, with both drivers mixed evenly. */
async function populate(bench: Bench, ground: BenchServer): Promise<readonly PutRequest[]> {
  await nodes(ground, OUR_DRIVER)
  const foreign = await makeSet(ground, FOREIGN, bench.sized(FOREIGN_OBJECTS))
  const ownSet = await makeSet(ground, OUR_DRIVER, bench.sized(OWN_OBJECTS))
  const each = FOREIGN_PER_SECOND / OWN_PER_SECOND
  const turns = Math.max(foreign.length, ownSet.length * each) / each
  return Array.from({ length: turns }, (_, turn) => [
    ...Array.from({ length: each }, (__, index) => at(foreign, turn * each + index)),
    at(ownSet, turn),
  ]).flat()
}

function at(objects: readonly PutRequest[], index: number): PutRequest {
  const object = objects[index % objects.length]
  if (object === undefined) throw new Error('no objects to write')
  return object
}

/** Creates claims, volumes and attachments that need no work. Returns their etcd entries, one of each kind in turn. */
async function makeSet(ground: BenchServer, driver: string, count: number): Promise<readonly PutRequest[]> {
  const first = `first.${driver}`
  const metadata = { finalizers: ['kubernetes.io/pv-protection', finalizerOf(driver)] }
  await growing(ground, driver)
  await createBoundClaim(ground, driver, { name: first, pv: { metadata } })
  await attached(ground, driver, { name: first, node: nodeOf(OUR_DRIVER) })
  const originals: readonly Original[] = [
    { resource: PERSISTENT_VOLUMES, name: first },
    { resource: VOLUME_ATTACHMENTS, name: first },
    { resource: PERSISTENT_VOLUME_CLAIMS, name: first, namespace: 'default' },
  ]
  for (const { resource, name, namespace } of originals) {
    await ground.api.merge(resource, { name, namespace }, { metadata: { annotations: { 'example.com/beat': BEAT } } })
  }
  const copies = { originals, count: count - 1, rename: (text: string, index: number) => nameOf(text, first, index) }
  const made = await makeCopies(ground, copies)
  const templates = await Promise.all(originals.map((original) => stored(ground.api, original)))
  return [...templates.map(({ key, text }) => ({ key, value: text })), ...made]
}

function nameOf(text: string, first: string, index: number): string {
  return text.replaceAll(first, `set-${index}.${first.replace('first.', '')}`)
}

interface Writer extends AsyncDisposable {
  /** Returns the number of objects written so far. */
  written(): Promise<Written>
}

/** Starts the writer process. It ends when this process ends. */
function startWriter(beats: Beats): Writer {
  const child = fork(new URL('./busy-writer.ts', import.meta.url))
  const exited = once(child, 'exit')
  child.send(beats)
  return {
    async written() {
      const gone = exited.then((): never => {
        throw new Error(`the writer has ended with ${child.exitCode}`)
      })
      const answer = once(child, 'message')
      child.send('written?')
      const [written] = (await Promise.race([answer, gone])) as [Written]
      return written
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}

import { deepStrictEqual as equal, ok } from 'node:assert'
import type { RunningSidecar, TestContext } from '../../harness/context.ts'
import { type Call, createdVolume, type FakeDriver } from '../../harness/driver/driver.ts'
import type { TestedApp } from '../../harness/subject.ts'
import { testsOf } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { createClaim, scene as provisionerScene, released } from '../../rows/provisioner/scene.ts'
import {
  createContent,
  createClass as createSnapshotClass,
  described,
  scene as snapshotterScene,
} from '../../rows/snapshotter/scene.ts'

const WORKERS = 8
const OBJECTS = 3 * WORKERS
/** The minimum number of successes before a lowered limit rises. */
const ROUND = 5
/** The time that a served call takes, so that parallel calls overlap. */
const CALL_MS = 20
const ARGS = [`--worker-threads=${WORKERS}`, '--retry-interval-start=100ms', '--retry-interval-max=500ms']

interface StartedScene {
  readonly driver: FakeDriver
  readonly sidecar: RunningSidecar
}

interface PressedMethod {
  readonly app: TestedApp
  readonly method: string
  /** The queue of the objects, as the metric names it. */
  readonly queue: string
  /** The maximum number of calls at once. In the provisioner, retries may occupy 40 % more workers than the flag says. */
  readonly max: number
  readonly start: (t: TestContext) => Promise<StartedScene>
  /** Creates an object for which the sidecar calls the method. */
  readonly create: (t: TestContext, suffix: string) => Promise<unknown>
  readonly reply: (call: Call) => object
}

const METHODS: readonly PressedMethod[] = [
  {
    app: 'provisioner',
    method: 'CreateVolume',
    queue: 'claims',
    max: 11,
    start: (t) => provisionerScene(t, { args: ARGS }),
    create: (t, suffix) => createClaim(t, { suffix }),
    reply: ({ request }) => ({ volume: createdVolume(request) }),
  },
  {
    app: 'provisioner',
    method: 'DeleteVolume',
    queue: 'volumes',
    max: 11,
    start: (t) => provisionerScene(t, { args: ARGS }),
    create: (t, suffix) => released(t, { suffix }),
    reply: () => ({}),
  },
  {
    app: 'snapshotter',
    method: 'CreateSnapshot',
    queue: 'csi-snapshotter-content',
    max: WORKERS,
    start: async (t) => {
      await createSnapshotClass(t)
      const { driver, snapshotter } = await snapshotterScene(t, { args: ARGS })
      return { driver, sidecar: snapshotter }
    },
    create: (t, suffix) => createContent(t, { suffix }),
    reply: ({ request }) => ({ snapshot: described({ snapshotId: `snap-${request['name']}` }) }),
  },
]

for (const { app, method, queue, max, start, create, reply } of METHODS) {
  const test = testsOf(app, 'pressure', { only: 'ours' })

  test(`while many ${method} calls end as ResourceExhausted, fewer run at once, and more after successes`, async (t) => {
    const { driver, sidecar } = await start(t)
    const limit = async (): Promise<number | undefined> =>
      (await sidecar.metrics()).value('csi_sidecar_driver_in_flight_limit', { name: queue })
    equal(await limit(), max)
    const full = refuseCalls(driver, method)
    await Promise.all(Array.from({ length: OBJECTS }, (_, number) => create(t, `-${number}`)))
    await full

    await eventually('a limit of one call', async () => (await limit()) === 1, { within: 60_000 })
    const refused = driver.callsOf(method).length
    await eventually('more refused calls', () => driver.callsOf(method).length >= refused + 3)
    equal(await limit(), 1)

    const atOnce = serveCalls(driver, method, reply)
    await eventually('two calls at once', () => atOnce.some((count) => count > 1), { within: 60_000 })
    equal(atOnce.slice(0, ROUND), Array(ROUND).fill(1))
    ok(((await limit()) ?? 0) > 1)
    ok(Math.max(...atOnce) <= max, `calls at once: ${atOnce.join()}`)
  })
}

/** Lets the driver refuse all calls, the first calls only when all workers call. Resolves when all workers call. */
function refuseCalls(driver: FakeDriver, method: string): Promise<void> {
  const full = Promise.withResolvers<void>()
  driver.on(method, () => {
    if (running(driver, method) === WORKERS) full.resolve()
    return { code: 8, message: 'the back end has too much work', after: full.promise }
  })
  return full.promise
}

/** Lets the driver serve all calls. Returns the number of calls that run when a call arrives, for each of the calls. */
function serveCalls(driver: FakeDriver, method: string, reply: (call: Call) => object): readonly number[] {
  const atOnce: number[] = []
  driver.on(method, (call) => {
    atOnce.push(running(driver, method))
    return { reply: reply(call), after: CALL_MS }
  })
  return atOnce
}

function running(driver: FakeDriver, method: string): number {
  return driver.callsOf(method).filter(({ end }) => end === undefined).length
}

import { equal, match, ok } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { APPS } from '@csi-sidecars/sidecars'
import { LONG } from '../../harness/long.ts'
import { type Exit, exitOf, start, stop, temporaryFolder } from '../../harness/process/processes.ts'
import { check, type Ground } from '../../harness/test.ts'
import { eventually } from '../../harness/waiting.ts'
import { build, originals } from '../../tools/binaries.ts'
import { runDevcluster, sidecarArgs } from './devcluster-process.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const DRIVER = resolve(import.meta.dirname, '../../harness/driver/emulated-driver.ts')
const WITHIN_MS = 10 * 60_000
const KILL_EVERY_MS = 3_000

const long = LONG ? check : () => undefined

/** The sockets of so many nodes are named to the test. */
const NODES = 3

const CSI_DRIVER = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata:
  name: csi.example.com
spec:
  podInfoOnMount: true
  volumeLifecycleModes: [Persistent, Ephemeral]
`

const AGAIN = 'had succeeded, and failed when it was repeated'

/** Each bug with the report that the test must print. */
const BUGS: readonly (readonly [string, RegExp])[] = [
  ['publish-not-idempotent', new RegExp(`succeeds again: ControllerPublishVolume of \\S+ on [\\w-]+ ${AGAIN}`)],
  ['volume-leaked', /Nothing is left when everything was deleted: volume \S+ is left at the driver/],
  ['detach-of-new-attachment', /volume \S+ was published to \S+ and is not listed there, without having been/],
  ['create-not-idempotent', new RegExp(`CreateVolume of \\S+ ${AGAIN}`)],
  ['create-too-small', /CreateVolume of \S+ answered with \d+ bytes where \d+ were required/],
  ['create-again-without-id', /CreateVolume of \S+ succeeded and names no volume/],
  ['topology-ignored', /volume \S+ is in \{"zone":"elsewhere"\}, not where asked/],
  ['clone-without-source', /volume \S+ is created from volume \S+ and does not say so/],
  ['delete-not-idempotent', new RegExp(`DeleteVolume of \\S+ ${AGAIN}`)],
  ['delete-leaves-volume', /volume \S+ was deleted and is listed/],
  ['context-changes', /the publish context of \S+ on \S+ was \S+, and then /],
  ['unpublish-not-idempotent', new RegExp(`ControllerUnpublishVolume of \\S+ on \\S+ ${AGAIN}`)],
  ['unpublish-leaves-volume', /is listed on \S+, where it is not published|"volume \S+ is attached"/],
  ['expand-does-nothing', /ControllerExpandVolume of \S+ answered with \d+ bytes where \d+ were required/],
  ['expand-not-idempotent', new RegExp(`ControllerExpandVolume of \\S+ ${AGAIN}`)],
  ['list-refused', /lists them: ListVolumes, of which the driver says that it has it: Unimplemented "not yet"/],
  ['list-without-end', /lists them: ListVolumes, of which .* it has no end/],
  ['list-without-attached', /volume \S+ was created and is not listed/],
  ['stage-not-idempotent', new RegExp(`NodeStageVolume of \\S+ ${AGAIN}`)],
  ['unstage-not-idempotent', new RegExp(`NodeUnstageVolume of \\S+ ${AGAIN}`)],
  ['node-publish-not-idempotent', new RegExp(`NodePublishVolume of \\S+ ${AGAIN}`)],
  ['node-unpublish-not-idempotent', new RegExp(`NodeUnpublishVolume of \\S+ ${AGAIN}`)],
  ['node-expand-not-idempotent', new RegExp(`NodeExpandVolume of \\S+ ${AGAIN}`)],
  ['target-missing', /NodePublishVolume of \S+ succeeded, and there is nothing at \S+/],
  ['target-left', /NodeUnpublishVolume of \S+ succeeded, and there still is something at \S+/],
  ['usage-refused', /NodeGetVolumeStats of \S+ at \S+ failed: Internal "\S+ is nowhere"/],
  ['inline-left', /volume csi-\S+ was deleted and is listed/],
]

/** These are found twice: by a seed, and by the printed command that repeats the run. */
const REPEATED = 3
const AT_ONCE = 3

long(
  `driver test: ${BUGS.length} bugs are found, reported with their calls, and found again by their seeds`,
  { target: 'emulator', within: 2 * WITHIN_MS },
  async (ground) => {
    const waiting = [...BUGS.entries()]
    const reds: unknown[] = []
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, [bug, output]] = next
        await find(ground, bug, { output, again: index < REPEATED }).catch((error: unknown) => reds.push(error))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    if (reds.length > 0) throw new AggregateError(reds, reds.map(String).join('\n'))
  },
)

interface Search {
  readonly output: RegExp
  readonly again: boolean
}

async function find(ground: Ground, bug: string, { output, again }: Search): Promise<void> {
  const found = (text: string): void => ok(output.test(text), `${bug} was not found:\n${text}`)
  const first = await testOf(ground, `${bug}-1`, { bug, flags: ['--seed=1', '--seconds=20', '--patience=15'] })
  found(first.output)
  equal(first.code, 1, first.output)
  // With the calls before it; where the driver does not list its volumes, that call says all.
  match(first.output, /\+[\d.]+ s \w+Volume \S+|: ListVolumes, of which/)
  match(readFileSync(join(first.folder, 'junit.xml'), 'utf8'), /<failure message="/)
  match(readFileSync(join(first.folder, 'report.md'), 'utf8'), /## Seed 1/)
  if (!again) return

  const [, line = ''] = /again: npm start -- test (.*)/.exec(first.output) ?? []
  const flags = line.split(' ').filter((flag) => /^--(seed|seconds|patience)=/.test(flag))
  equal(flags.length, 3, line)
  const second = await testOf(ground, `${bug}-2`, { bug, flags })
  found(second.output)
  equal(second.code, 1, second.output)
}

long(
  'driver test: a correct driver that is killed every 3 s raises no alarm, with its nodes and without',
  { target: 'emulator', within: WITHIN_MS },
  async (ground) => {
    for (const nodes of [0, NODES]) {
      const { code, output, folder, deaths } = await testOf(ground, `killed-${nodes}`, {
        flags: ['--chaos=1-2', '--patience=120'],
        killEveryMs: KILL_EVERY_MS,
        nodes,
      })
      equal(code, 0, output)
      ok(deaths >= 5, `it died ${deaths} times`)
      match(output, /All promises were kept/)
      ok(!readFileSync(join(folder, 'junit.xml'), 'utf8').includes('<failure'))
    }
  },
)

long(
  'driver test: seeds 1 to 10 find nothing in a correct driver, beside our sidecars and the Go originals',
  { target: 'emulator', within: WITHIN_MS },
  async (ground) => {
    const ours = await testOf(ground, 'seeds', { flags: ['--chaos=1-10', '--seconds=15'] })
    equal(ours.code, 0, ours.output)
    for (const app of APPS) build(ROOT, `csi-${app}`)
    const flags = [`--sidecars=${dirname(originals(ROOT).attacher)}`, '--chaos=1-2', '--seconds=15']
    const theirs = await testOf(ground, 'originals', { flags, ownSidecars: true })
    equal(theirs.code, 0, theirs.output)
  },
)

long(
  'driver test: starts the driver by a command, kills it, and says when it ends by itself',
  { target: 'emulator', within: WITHIN_MS },
  async (ground) => {
    const place = temporaryFolder('driver')
    const command = `${process.execPath} ${driverArgs(place).join(' ')}`
    const flags = [`--driver-command=${command}`, '--seed=2', '--seconds=20']
    const good = await run(ground, join(ground.folder, 'good'), { place, flags })
    equal(good.code, 0, good.output)
    ok(!good.output.includes('left out: the death of the driver'))

    const ends = `--driver-command=timeout 8 ${command}`
    const bad = await run(ground, join(ground.folder, 'bad'), { place, flags: [ends, '--seed=2', '--seconds=20'] })
    equal(bad.code, 1, bad.output)
    match(bad.output, /The driver ends only when it is asked to: the driver ended with code 124/)
  },
)

check('driver test: ends with 2 and one line where there is nothing to test', 'emulator', async ({ folder }) => {
  const socket = join(temporaryFolder('no-driver'), 'csi.sock')
  const lines = async (...flags: readonly string[]): Promise<string> => {
    const { code, output } = await runDevcluster(folder, ['test', ...flags])
    equal(code, 2, output)
    return output
  }
  match(await lines(), /^--driver is required: the socket of the driver to test, unix:\/\/\/path\n$/)
  match(
    await lines('--driver=tcp://host:1'),
    /^--driver tcp:\/\/host:1: only unix sockets are known, as unix:\/\/\/path\n$/,
  )
  const output = await lines(`--driver=unix://${socket}`)
  match(output, new RegExp(`^Failed: no CSI driver at unix://${socket}: connect: no such file or directory\n`))
})

interface Case {
  readonly bug?: string | undefined
  readonly flags: readonly string[]
  readonly killEveryMs?: number
  /** 0: devcluster substitutes the node service. */
  readonly nodes?: number
  /** The flags name the sidecars. */
  readonly ownSidecars?: boolean | undefined
}

type Tested = Exit & { readonly output: string; readonly folder: string }

/** Tests an emulated driver that another process has started, and maybe kills. */
async function testOf(
  ground: Ground,
  name: string,
  { bug, flags, killEveryMs, nodes = NODES, ownSidecars }: Case,
): Promise<Tested & { readonly deaths: number }> {
  const place = temporaryFolder('driver')
  const over = new AbortController()
  const driver = keepRunning(driverArgs(place, { bug, nodes }), { place, killEveryMs, over: over.signal })
  try {
    const tested = await run(ground, join(ground.folder, name), { place, flags, nodes, ownSidecars })
    return { ...tested, deaths: driver.deaths() }
  } finally {
    over.abort()
    await driver.ended
  }
}

interface Run extends Pick<Case, 'flags' | 'nodes' | 'ownSidecars'> {
  readonly place: string
}

async function run(
  { executables }: Ground,
  folder: string,
  { place, flags, nodes = 0, ownSidecars = false }: Run,
): Promise<Tested> {
  mkdirSync(folder, { recursive: true })
  const reports = [`--report=${join(folder, 'junit.xml')}`, `--markdown=${join(folder, 'report.md')}`]
  const file = join(folder, 'csidriver.yaml')
  writeFileSync(file, CSI_DRIVER)
  const whose =
    nodes === 0
      ? ['--node-ids=a,b']
      : [...nodeSockets(place, nodes).map((each) => `--node=unix://${each}`), `--csidriver=${file}`]
  const which = [`--driver=unix://${socketIn(place)}`, ...whose]
  const sidecars = ownSidecars ? [] : sidecarArgs(executables)
  const exit = await runDevcluster(folder, ['test', ...which, ...sidecars, ...reports, ...flags])
  return { ...exit, folder }
}

const socketIn = (place: string): string => join(place, 'csi.sock')

function nodeSockets(place: string, nodes: number): readonly string[] {
  return Array.from({ length: nodes }, (_, index) => join(place, `node-${index + 1}.sock`))
}

function driverArgs(place: string, { bug, nodes = 0 }: Pick<Case, 'bug' | 'nodes'> = {}): readonly string[] {
  return [
    '--disable-warning=ExperimentalWarning',
    DRIVER,
    `--socket=${socketIn(place)}`,
    `--state=${join(place, 'state.json')}`,
    ...nodeSockets(place, nodes).map((each) => `--node=${each}`),
    ...(bug === undefined ? [] : [`--bug=${bug}`]),
  ]
}

interface Keeping {
  readonly place: string
  /** The driver is killed this long after it begins to listen. */
  readonly killEveryMs: number | undefined
  readonly over: AbortSignal
}

function keepRunning(args: readonly string[], { place, killEveryMs, over }: Keeping) {
  let deaths = 0
  const life = async (child: ChildProcess): Promise<void> => {
    await eventually('the driver', () => existsSync(socketIn(place)), { within: 60_000 })
    while (!over.aborted && !(await isServed(socketIn(place)))) await sleep(50)
    const most = killEveryMs ?? WITHIN_MS
    await sleep(most, undefined, { signal: over }).catch(() => undefined)
    await stop(child)
  }
  const ended = (async () => {
    while (!over.aborted) {
      const child = start(process.execPath, args)
      await Promise.all([life(child), exitOf(child)])
      deaths += 1
    }
  })()
  return { deaths: () => deaths, ended }
}

function isServed(path: string): Promise<boolean> {
  return new Promise((done) => {
    const probe = connect(path)
    const end = (served: boolean): void => {
      probe.destroy()
      done(served)
    }
    probe.once('connect', () => end(true))
    probe.once('error', () => end(false))
  })
}

import { equal, match, ok } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { SIDECARS } from '../../../../desk/devcluster/src/cluster/binaries.ts'
import { CHECKS } from '../../../../desk/driver-test/src/checks/checks.ts'
import { BUGS } from '../../../../desk/driver-test/test/driver-bugs.ts'
import { type Exit, exitOf, runToEnd, start, stop, temporaryFolder } from '../../harness/process/processes.ts'
import { build } from '../../harness/programs/binaries.ts'
import { type CheckContext, check } from '../../harness/test.ts'
import { eventually, pause, repeat } from '../../harness/waiting.ts'
import { runProgram, sidecarArgs } from './devcluster.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
const DRIVER = resolve(import.meta.dirname, '../../../../desk/driver-test/test/tested-driver.ts')
const WITHIN_MS = 10 * 60_000
const KILL_EVERY_MS = 3_000

const OPTIONS = { target: 'emulator', within: WITHIN_MS } as const
/** A long check searches for bugs with the default settings, so it needs the machine for itself. */
const LONG_ALONE = { ...OPTIONS, alone: 'machine', long: true } as const

/** The number of nodes whose sockets the driver test receives. */
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

check('driver test: seed 1 finds that a killed driver forgets its staged volumes', OPTIONS, (ground) =>
  find(ground, 'stages-lost-at-kill', { flags: ['--seed=1', '--seconds=6'], again: false }),
)

for (const bug of Object.keys(BUGS)) {
  check(
    `driver test: the default run finds the bug ${bug}, and the printed command finds the bug again`,
    LONG_ALONE,
    (ground) => find(ground, bug, { flags: [], again: true }),
  )
}

interface Search {
  readonly flags: readonly string[]
  readonly again: boolean
}

/** Runs the driver test with a driver that has the bug. The report must name the check that the bug breaks. */
async function find(ground: CheckContext, bug: string, { flags, again }: Search): Promise<void> {
  const heading = CHECKS[BUGS[bug]?.check ?? 'alive']
  const place = temporaryFolder('driver')
  const command = `${process.execPath} ${driverArgs(place, { bug, nodes: NODES }).join(' ')}`
  const tested = await run(ground, ground.folder, {
    place,
    nodes: NODES,
    flags: [`--driver-command=${command}`, ...flags],
  })
  equal(tested.code, 1, `${bug}:\n${tested.output}`)
  ok(tested.output.includes(`${heading}: `), `${bug} is not found under "${heading}":\n${tested.output}`)
  const junit = readFileSync(join(tested.folder, 'junit.xml'), 'utf8')
  ok(junit.includes(`name="${heading}"><failure message="`), `${bug}:\n${junit}`)
  match(readFileSync(join(tested.folder, 'report.md'), 'utf8'), /^## (Seed \d|Before)/m)
  if (!again) return
  const after = tested.output.slice(tested.output.indexOf(`${heading}: `))
  const [, line = ''] = /^ +again: (.*)$/m.exec(after) ?? []
  ok(line !== '', tested.output)
  // Runs the command that the driver test printed, to find the bug again.
  const { code, output } = await runToEnd('sh', ['-c', line])
  equal(code, 1, `${bug}, by ${line}:\n${output}`)
  ok(output.includes(`${heading}: `), `${bug} is not found again by ${line}:\n${output}`)
}

check(
  'driver test: a correct driver that is killed every 3 s causes no finding, with and without nodes',
  { ...LONG_ALONE, within: 6 * WITHIN_MS },
  async (ground) => {
    for (const [nodes, seeds] of [
      [0, '1-2'],
      [NODES, '1-30'],
    ] as const) {
      const { code, output, folder, deaths } = await testOf(ground, `killed-${nodes}`, {
        flags: [`--chaos=${seeds}`, '--patience=120'],
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

check(
  'driver test: 30 seeds with our sidecars and two with the Go sidecars find no bug in a correct driver',
  { ...LONG_ALONE, within: 3 * WITHIN_MS },
  async (ground) => {
    const ours = await testOf(ground, 'seeds', { flags: ['--chaos=1-30', '--seconds=10'] })
    equal(ours.code, 0, ours.output)
    const flags = [`--sidecars=${originalsIn(ground.folder)}`, '--chaos=1-2', '--seconds=15']
    const theirs = await testOf(ground, 'originals', { flags, ownSidecars: true })
    equal(theirs.code, 0, theirs.output)
  },
)

check(
  'driver test: --compare shows the calls of our sidecars and of the Go sidecars side by side',
  LONG_ALONE,
  async (ground) => {
    const theirs = originalsIn(ground.folder)
    const { code, output, folder } = await testOf(ground, 'compared', {
      flags: [`--compare=${theirs}`, '--seed=1', '--seconds=10'],
    })
    equal(code, 0, output)
    ok(output.includes(`1: seed 1, 2: seed 1, with ${theirs}`), output)
    match(output, /Both runs have the same findings\.\n +1 +2 +calls\n/)
    match(output, /^ +[1-9]\d* +[1-9]\d* +ControllerModifyVolume$/m)
    match(readFileSync(join(folder, 'report.md'), 'utf8'), /^## Side by side$/m)
  },
)

check(
  'driver test: with --driver-command, the report names an unexpected end of the driver',
  LONG_ALONE,
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

check('driver test: without a driver, the program prints one line and exits with 2', OPTIONS, async ({ folder }) => {
  const socket = join(temporaryFolder('no-driver'), 'csi.sock')
  const lines = async (...flags: readonly string[]): Promise<string> => {
    const { code, output } = await runProgram('driver-test', folder, flags)
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

check('driver test: a driver that does not start causes a finding', OPTIONS, async ({ folder }) => {
  const socket = join(temporaryFolder('no-driver'), 'csi.sock')
  const junit = join(folder, 'junit.xml')
  const flags = [`--driver=unix://${socket}`, '--driver-command=sh -c "exit 3"', `--report=${junit}`]
  const { code, output } = await runProgram('driver-test', folder, flags)
  equal(code, 1, output)
  match(
    output,
    /^FAIL before the first seed\n +The driver ends only when it is asked to: the driver ended with code 3/m,
  )
  ok(readFileSync(junit, 'utf8').includes(`name="${CHECKS.alive}"><failure message="`))
})

/** Returns a folder with the Go sidecars. Their snapshotter is missing: it forgets snapshots that are deleted early. */
function originalsIn(folder: string): string {
  const names = SIDECARS.filter((app) => app !== 'snapshotter').map((app) => `csi-${app}`)
  for (const name of names) symlinkSync(build(ROOT, name), join(folder, name))
  return folder
}

interface Case {
  readonly flags: readonly string[]
  readonly killEveryMs?: number
  /** The number of node services of the driver. With 0, the embedded cluster simulates the node service. */
  readonly nodes?: number
  /** True if the flags contain the paths of the sidecars. */
  readonly ownSidecars?: boolean | undefined
}

type Tested = Exit & { readonly output: string; readonly folder: string }

/** Tests an emulated driver that this function starts and, if asked, kills again and again. */
async function testOf(
  ground: CheckContext,
  name: string,
  { flags, killEveryMs, nodes = NODES, ownSidecars }: Case,
): Promise<Tested & { readonly deaths: number }> {
  const place = temporaryFolder('driver')
  const over = new AbortController()
  const driver = keepRunning(driverArgs(place, { nodes }), { place, killEveryMs, over: over.signal })
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
  { executables }: CheckContext,
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
  const which = [`--driver=unix://${socketIn(place)}`, ...whose, '--attributes=tier=gold', '--attributes=tier=silver']
  const sidecars = ownSidecars ? [] : sidecarArgs(executables)
  const exit = await runProgram('driver-test', folder, [...which, ...sidecars, ...reports, ...flags])
  return { ...exit, folder }
}

const socketIn = (place: string): string => join(place, 'csi.sock')

function nodeSockets(place: string, nodes: number): readonly string[] {
  return Array.from({ length: nodes }, (_, index) => join(place, `node-${index + 1}.sock`))
}

function driverArgs(
  place: string,
  { bug, nodes = 0 }: { readonly bug?: string; readonly nodes?: number } = {},
): readonly string[] {
  return [
    '--disable-warning=ExperimentalWarning',
    DRIVER,
    `--socket=${socketIn(place)}`,
    `--state=${join(place, 'state.json')}`,
    ...nodeSockets(place, nodes).map((each) => `--node=${each}`),
    ...(bug === undefined ? [] : [`--bug=${bug}`]),
    // Without the flag `--holds`, the driver supports neither snapshots nor stored data in volumes.
    ...(bug === undefined || BUGS[bug]?.holds === true ? [`--holds=${join(place, 'holds')}`] : []),
  ]
}

interface Keeping {
  readonly place: string
  /** How long the driver listens until it is killed. Undefined if the driver is not killed. */
  readonly killEveryMs: number | undefined
  readonly over: AbortSignal
}

function keepRunning(args: readonly string[], { place, killEveryMs, over }: Keeping) {
  let deaths = 0
  const life = async (child: ChildProcess): Promise<void> => {
    await eventually('the driver', () => existsSync(socketIn(place)), { within: 60_000 })
    await repeat(50, async () => !over.aborted && !(await isServed(socketIn(place))))
    const most = killEveryMs ?? WITHIN_MS
    await pause(most, undefined, { signal: over }).catch(() => undefined)
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

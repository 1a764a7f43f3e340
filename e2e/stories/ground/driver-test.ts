import { equal, match, ok } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LONG } from '../../harness/long.ts'
import { type Exit, exitOf, start, stop, temporaryFolder } from '../../harness/processes.ts'
import { check, type Ground } from '../../harness/story.ts'
import { eventually } from '../../harness/waiting.ts'
import { runDevcluster, sidecarArgs } from './devcluster-process.ts'

const DRIVER = resolve(import.meta.dirname, '../../harness/emulated-driver.ts')
const WITHIN_MS = 10 * 60_000
const KILL_EVERY_MS = 3_000

const long = LONG ? check : () => undefined

/** Each bug with what the test has to say of it. */
const BUGS = [
  [
    'publish-not-idempotent',
    /succeeds again: ControllerPublishVolume of \S+ on \w+ had succeeded, and failed when it was repeated/,
  ],
  ['volume-leaked', /Nothing is left when everything was deleted: volume \S+ is left at the driver/],
  [
    'detach-of-new-attachment',
    /volume \S+ was published to \w+ and is not listed there, without having been unpublished/,
  ],
] as const

long(
  `driver test: ${BUGS.length} bugs are found, told with their calls, and found again by their seeds`,
  'emulator',
  async (ground) => {
    const runs = await Promise.allSettled(BUGS.map(([bug, told]) => findTwice(ground, bug, told)))
    const reds = runs.flatMap((run) => (run.status === 'rejected' ? [run.reason] : []))
    if (reds.length > 0) throw new AggregateError(reds, reds.map(String).join('\n'))
  },
  WITHIN_MS,
)

async function findTwice(ground: Ground, bug: string, told: RegExp): Promise<void> {
  const first = await testOf(ground, `${bug}-1`, { bug, flags: ['--seed=1', '--seconds=25', '--patience=15'] })
  equal(first.code, 1, first.told)
  match(first.told, told)
  match(first.told, /\+[\d.]+ s \w+Volume \S+/)
  match(readFileSync(join(first.folder, 'junit.xml'), 'utf8'), /<failure message="/)
  match(readFileSync(join(first.folder, 'report.md'), 'utf8'), /## Seed 1/)

  const [, again = ''] = /again: npm start -- test (.*)/.exec(first.told) ?? []
  const flags = again.split(' ').filter((flag) => /^--(seed|seconds|patience)=/.test(flag))
  equal(flags.length, 3, again)
  const second = await testOf(ground, `${bug}-2`, { bug, flags })
  equal(second.code, 1, second.told)
  match(second.told, told)
}

long(
  'driver test: a correct driver that is killed every 3 s raises no alarm',
  'emulator',
  async (ground) => {
    const { code, told, folder, deaths } = await testOf(ground, 'killed', {
      flags: ['--chaos=1-2', '--patience=120'],
      killEveryMs: KILL_EVERY_MS,
    })
    equal(code, 0, told)
    ok(deaths >= 5, `it died ${deaths} times`)
    match(told, /All promises were kept/)
    ok(!readFileSync(join(folder, 'junit.xml'), 'utf8').includes('<failure'))
  },
  WITHIN_MS,
)

long(
  'driver test: starts the driver by a command, kills it, and says when it ends by itself',
  'emulator',
  async (ground) => {
    const place = temporaryFolder('driver')
    const command = `${process.execPath} ${driverArgs(place).join(' ')}`
    const flags = [`--driver-command=${command}`, '--seed=2', '--seconds=20']
    const good = await run(ground, join(ground.folder, 'good'), { place, flags })
    equal(good.code, 0, good.told)
    ok(!good.told.includes('left out: the death of the driver'))

    const ends = `--driver-command=timeout 8 ${command}`
    const bad = await run(ground, join(ground.folder, 'bad'), { place, flags: [ends, '--seed=2', '--seconds=20'] })
    equal(bad.code, 1, bad.told)
    match(bad.told, /The driver ends only when it is asked to: the driver ended with code 124/)
  },
  WITHIN_MS,
)

check('driver test: ends with 2 and one line where there is nothing to test', 'emulator', async ({ folder }) => {
  const socket = join(temporaryFolder('nobody'), 'csi.sock')
  const lines = async (...flags: readonly string[]): Promise<string> => {
    const { code, told } = await runDevcluster(folder, ['test', ...flags])
    equal(code, 2, told)
    return told
  }
  match(await lines(), /^--driver is required: the socket of the driver to test, unix:\/\/\/path\n$/)
  match(
    await lines('--driver=tcp://host:1'),
    /^--driver tcp:\/\/host:1: only unix sockets are known, as unix:\/\/\/path\n$/,
  )
  const told = await lines(`--driver=unix://${socket}`)
  match(told, new RegExp(`^Failed: no CSI driver at unix://${socket}: connect: no such file or directory\n`))
})

interface Case {
  readonly bug?: string
  readonly flags: readonly string[]
  readonly killEveryMs?: number
}

type Tested = Exit & { readonly told: string; readonly folder: string }

/** Tests an emulated driver that somebody else has started, and maybe kills. */
async function testOf(
  ground: Ground,
  name: string,
  { bug, flags, killEveryMs }: Case,
): Promise<Tested & { readonly deaths: number }> {
  const place = temporaryFolder('driver')
  const over = new AbortController()
  const driver = keepRunning(driverArgs(place, bug), { place, killEveryMs, over: over.signal })
  try {
    return { ...(await run(ground, join(ground.folder, name), { place, flags })), deaths: driver.deaths() }
  } finally {
    over.abort()
    await driver.ended
  }
}

async function run(
  { executables }: Ground,
  folder: string,
  { place, flags }: { readonly place: string; readonly flags: readonly string[] },
): Promise<Tested> {
  mkdirSync(folder, { recursive: true })
  const reports = [`--report=${join(folder, 'junit.xml')}`, `--markdown=${join(folder, 'report.md')}`]
  const which = [`--driver=unix://${socketIn(place)}`, '--node-ids=a,b']
  const exit = await runDevcluster(folder, ['test', ...which, ...sidecarArgs(executables), ...reports, ...flags])
  return { ...exit, folder }
}

const socketIn = (place: string): string => join(place, 'csi.sock')

function driverArgs(place: string, bug?: string): readonly string[] {
  const args = ['--disable-warning=ExperimentalWarning', DRIVER, socketIn(place), join(place, 'state.json')]
  return bug === undefined ? args : [...args, bug]
}

interface Keeping {
  readonly place: string
  /** Since it began to listen. */
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

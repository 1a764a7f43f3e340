// Runs the driver test on public CSI drivers, as root. Fails if a driver fails a check that is not listed as known.
//   npm run public-drivers -- [--only NAME] [--drivers FOLDER] [--seeds 1-3]
// FOLDER contains the executable of each driver as NAME-VERSION. Drivers that are Go modules are built instead.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { messageOf } from '@csi-sidecars/base'
import { readArguments } from '@csi-sidecars/command'
import { SEEDS } from '@csi-sidecars/disturb'
import { CHECKS, type CheckName } from '../../../desk/driver-test/src/checks/checks.ts'
import { exitOf, start, stop, temporaryFolder } from '../harness/process/processes.ts'
import { build, executablesOf } from '../harness/programs/binaries.ts'
import { eventually } from '../harness/waiting.ts'

/** A public CSI driver that needs no cloud. */
export interface PublicDriver {
  readonly name: string
  readonly version: string
  /** True if the executable is built from a Go module. Otherwise the executable is in the folder of `--drivers`. */
  readonly built?: true
  /** Returns a shell command that runs the executable in the foreground. */
  readonly command: (executable: string, socket: string, state: string) => string
  /** True if the driver keeps its state in memory, so that the test must not kill it. */
  readonly inMemory?: boolean
  readonly flags?: readonly string[]
  readonly csiDriver?: { readonly name: string; readonly spec: object }
  /** The checks that the driver is known to fail, as docs/driver-findings describes. */
  readonly knownFailures: readonly CheckName[]
}

const ATTRIBUTES = ['--attributes=tier=gold', '--attributes=tier=silver']

const hostPath = (version: string): PublicDriver => ({
  name: 'csi-driver-host-path',
  version,
  command: (executable, socket, state) =>
    `${executable} --endpoint=unix://${socket} --nodeid=n1 --statedir=${state} --enable-attach --enable-controller-modify-volume=true --accepted-mutable-parameter-names=tier`,
  flags: ATTRIBUTES,
  csiDriver: {
    name: 'hostpath.csi.k8s.io',
    spec: { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
  },
  knownFailures: [
    'idempotence',
    'strict',
    'listed',
    'inUse',
    'capacity',
    'options',
    'alive',
    'noLeak',
    'placed',
    'converges',
  ],
})

const DEMOCRATIC = 'dirPermissionsMode: \\"0777\\", dirPermissionsUser: 0, dirPermissionsGroup: 0'

export const DRIVERS: readonly PublicDriver[] = [
  hostPath('v1.18.0'),
  hostPath('v1.17.1'),
  {
    name: 'csi-driver-nfs',
    version: 'v4.13.4',
    command: (executable, socket, state) =>
      `${executable} --endpoint=unix://${socket} --nodeid=n1 --working-mount-dir=${state}`,
    // An NFS server on this machine must export this share.
    flags: ['--parameter=server=127.0.0.1', '--parameter=share=/share'],
    csiDriver: { name: 'nfs.csi.k8s.io', spec: { attachRequired: false, fsGroupPolicy: 'File' } },
    knownFailures: ['data', 'strict'],
  },
  {
    name: 'democratic-csi',
    version: 'v1.9.4',
    command: (executable, socket, state) =>
      `sh -c 'mkdir -p ${state}; echo "{driver: local-hostpath, local-hostpath: {shareBasePath: ${state}, controllerBasePath: ${state}, ${DEMOCRATIC}}}" >${state}.yaml; exec ${executable} --log-level warn --driver-config-file ${state}.yaml --csi-version 1.9.0 --csi-name org.democratic-csi.local-hostpath --server-socket ${socket}'`,
    knownFailures: ['data', 'strict', 'alive'],
  },
  {
    name: 'csi-test',
    version: 'v4.2.0',
    built: true,
    command: (executable, socket) =>
      `env CSI_ENDPOINT=unix://${socket} ${executable} --permissive-target-path --attach-limit=100`,
    inMemory: true,
    knownFailures: ['ended', 'content', 'capacity', 'strict', 'inUse', 'placed'],
  },
  {
    name: 'gocsi',
    version: 'v1.15.0',
    built: true,
    command: (executable, socket) => `env CSI_ENDPOINT=unix://${socket} ${executable}`,
    inMemory: true,
    knownFailures: ['capacity', 'strict', 'inUse', 'placed', 'content', 'snapshots'],
  },
]

const { values } = readArguments(
  'npm run public-drivers -- [--only NAME] [--drivers FOLDER] [--seeds 1-3]',
  {
    options: {
      only: { type: 'string', default: '' },
      drivers: { type: 'string', default: '.' },
      seeds: { type: 'string', default: '1-3' },
    },
  },
  { seeds: SEEDS },
)

const root = resolve(import.meta.dirname, '../../..')
const main = join(root, 'desk', 'driver-test', 'src', 'main.ts')
const reports = join(root, '.cache', 'e2e', 'public-drivers')
/** The time limit for the test of one driver. */
const WITHIN_MS = 30 * 60_000

let failed = 0
for (const driver of DRIVERS.filter(({ name }) => name.includes(values.only))) {
  const title = `${driver.name} ${driver.version}`
  const executable = executableOf(driver)
  if (!existsSync(executable)) {
    process.stdout.write(`none ${title}: ${executable} is missing\n`)
    continue
  }
  const unknown = await unknownFindings(driver, executable).catch((error: unknown) => [
    `not tested: ${messageOf(error)}`,
  ])
  if (unknown.length > 0) failed += 1
  process.stdout.write(`${unknown.length === 0 ? 'ok  ' : 'FAIL'} ${title}\n`)
  for (const text of unknown) process.stdout.write(`     ${text}\n`)
}
process.stdout.write(`the reports are in ${reports}\n`)
process.exitCode = failed === 0 ? 0 : 1

/** Runs the test of a driver and returns the failed checks that are not known failures. */
async function unknownFindings(driver: PublicDriver, executable: string): Promise<readonly string[]> {
  const report = join(reports, `${driver.name}-${driver.version}`)
  rmSync(report, { recursive: true, force: true })
  mkdirSync(report, { recursive: true })
  const { code } = await test(driver, executable, report)
  const junit = join(report, 'junit.xml')
  if (code !== 0 && !existsSync(junit)) throw new Error(`it ended with ${code} and no report`)
  const text = readFileSync(junit, 'utf8')
  const broken = [...text.matchAll(/name="([^"]*)"><failure message="([^"]*)"/g)]
  const knownHeadings = new Set<string | undefined>(driver.knownFailures.map((name: CheckName) => CHECKS[name]))
  return broken.flatMap(([, heading, message]) => (knownHeadings.has(heading) ? [] : [`${heading}: ${message}`]))
}

function executableOf({ name, version, built }: PublicDriver): string {
  return built === true ? build(root, `mock-${name}`) : resolve(values.drivers, `${name}-${version}`)
}

async function test(driver: PublicDriver, executable: string, report: string) {
  const place = temporaryFolder('driver')
  const socket = join(place, 'csi.sock')
  const command = driver.command(executable, socket, join(place, 'state'))
  const file = join(place, 'csidriver.json')
  const { name = '', spec = {} } = driver.csiDriver ?? {}
  writeFileSync(file, JSON.stringify({ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name }, spec }))
  const sidecars = Object.entries(executablesOf(root, 'ours')).filter(([app]) => /^(attacher|resizer)$/.test(app))
  const ownProcess = driver.inMemory === true ? start('sh', ['-c', `exec ${command}`]) : undefined
  if (ownProcess !== undefined) await eventually('the driver', () => existsSync(socket), { within: 60_000 })
  try {
    const tested = start(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        main,
        `--driver=unix://${socket}`,
        `--node=unix://${socket}`,
        ...sidecars.map(([app, path]) => `--${app}=${path}`),
        ...(ownProcess === undefined ? [`--driver-command=${command}`] : []),
        ...(driver.flags ?? []),
        ...(name === '' ? [] : [`--csidriver=${file}`]),
        `--chaos=${values.seeds}`,
        `--report=${join(report, 'junit.xml')}`,
        `--markdown=${join(report, 'report.md')}`,
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const timer = setTimeout(() => void stop(tested), WITHIN_MS)
    const exit = await exitOf(tested)
    clearTimeout(timer)
    return exit
  } finally {
    if (ownProcess !== undefined) await stop(ownProcess)
  }
}

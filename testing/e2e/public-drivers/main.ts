// Runs the driver test on public CSI drivers, as root. Fails if a driver breaks a check that it is not known to fail.
//   npm run public-drivers -- [--only NAME] [--drivers FOLDER] [--seeds 1-3]
// FOLDER contains the executable of each driver as NAME-VERSION. Drivers that are Go modules are built instead.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { messageOf } from '@csi-sidecars/base'
import { readArguments } from '@csi-sidecars/command'
import { SEEDS } from '@csi-sidecars/disturb'
import { CHECKS, type CheckName } from '../../../apps/driver-test/src/checks/checks.ts'
import { exitOf, start, stop, temporaryFolder } from '../harness/process/processes.ts'
import { eventually } from '../harness/waiting.ts'
import { build, executablesOf } from '../tools/binaries.ts'
import { DRIVERS, type PublicDriver } from './drivers.ts'

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
const main = join(root, 'apps', 'driver-test', 'src', 'main.ts')
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

/** Returns the failed checks of the report that the driver is not known to fail. */
async function unknownFindings(driver: PublicDriver, executable: string): Promise<readonly string[]> {
  const report = join(reports, `${driver.name}-${driver.version}`)
  rmSync(report, { recursive: true, force: true })
  mkdirSync(report, { recursive: true })
  const { code } = await test(driver, executable, report)
  const junit = join(report, 'junit.xml')
  if (code !== 0 && !existsSync(junit)) throw new Error(`it ended with ${code} and no report`)
  const text = readFileSync(junit, 'utf8')
  const broken = [...text.matchAll(/name="([^"]*)"><failure message="([^"]*)"/g)]
  const known = new Set<string | undefined>(driver.known.map((name: CheckName) => CHECKS[name]))
  return broken.flatMap(([, heading, what]) => (known.has(heading) ? [] : [`${heading}: ${what}`]))
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
  const own = driver.inMemory === true ? start('sh', ['-c', `exec ${command}`]) : undefined
  if (own !== undefined) await eventually('the driver', () => existsSync(socket), { within: 60_000 })
  try {
    const tested = start(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        main,
        `--driver=unix://${socket}`,
        `--node=unix://${socket}`,
        ...sidecars.map(([app, path]) => `--${app}=${path}`),
        ...(own === undefined ? [`--driver-command=${command}`] : []),
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
    if (own !== undefined) await stop(own)
  }
}

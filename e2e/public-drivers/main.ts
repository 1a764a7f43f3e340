// The driver test on drivers of other authors, as root. It fails for what docs/driver-findings does not know.
//   npm run public-drivers -- [--only NAME] [--sources FOLDER] [--seeds 1-3]
// With a folder, NAME-VERSION in it is the source of a driver; otherwise git fetches it.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { messageOf } from '@csi-sidecars/base'
import { SEEDS } from '@csi-sidecars/disturb'
import { readArguments } from '@csi-sidecars/testkit'
import { CHECKS, type CheckName } from '../../apps/devcluster/src/driver-test/checks/checks.ts'
import { exitOf, start, stop, temporaryFolder } from '../harness/process/processes.ts'
import { eventually } from '../harness/waiting.ts'
import { executablesOf } from '../tools/binaries.ts'
import { DRIVERS, type PublicDriver } from './drivers.ts'

const { values } = readArguments(
  'npm run public-drivers -- [--only NAME] [--sources FOLDER] [--seeds 1-3]',
  {
    options: {
      only: { type: 'string', default: '' },
      sources: { type: 'string' },
      seeds: { type: 'string', default: '1-3' },
    },
  },
  { seeds: SEEDS },
)

const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'apps', 'devcluster', 'src', 'main.ts')
const reports = join(root, '.cache', 'e2e', 'public-drivers')
/** Of one driver. */
const WITHIN_MS = 30 * 60_000

let failed = 0
for (const driver of DRIVERS.filter(({ name }) => name.includes(values.only))) {
  const title = `${driver.name} ${driver.version}`
  const unknown = await unknownFindings(driver).catch((error: unknown) => [`not tested: ${messageOf(error)}`])
  if (unknown.length > 0) failed += 1
  process.stdout.write(`${unknown.length === 0 ? 'ok  ' : 'FAIL'} ${title}\n`)
  for (const text of unknown) process.stdout.write(`     ${text}\n`)
}
process.stdout.write(`the reports are in ${reports}\n`)
process.exitCode = failed === 0 ? 0 : 1

/** The headings of the report that are not known of this driver. */
async function unknownFindings(driver: PublicDriver): Promise<readonly string[]> {
  const source = sourceOf(driver)
  execFileSync('sh', ['-c', driver.build], { cwd: source, stdio: ['ignore', 'ignore', 'inherit'] })
  const report = join(reports, `${driver.name}-${driver.version}`)
  rmSync(report, { recursive: true, force: true })
  mkdirSync(report, { recursive: true })
  const { code } = await test(driver, source, report)
  const junit = join(report, 'junit.xml')
  if (code !== 0 && !existsSync(junit)) throw new Error(`it ended with ${code} and no report`)
  const text = readFileSync(junit, 'utf8')
  const broken = [...text.matchAll(/name="([^"]*)"><failure message="([^"]*)"/g)]
  const known = new Set<string | undefined>(driver.known.map((name: CheckName) => CHECKS[name]))
  return broken.flatMap(([, heading, what]) => (known.has(heading) ? [] : [`${heading}: ${what}`]))
}

function sourceOf({ name, version, repository }: PublicDriver): string {
  if (values.sources !== undefined) return resolve(values.sources, `${name}-${version}`)
  const folder = join(temporaryFolder('source'), name)
  execFileSync('git', ['clone', '--quiet', '--depth=1', `--branch=${version}`, repository, folder])
  return folder
}

async function test(driver: PublicDriver, source: string, report: string) {
  const place = temporaryFolder('driver')
  const socket = join(place, 'csi.sock')
  const command = driver.command(socket, join(place, 'state'))
  const sidecars = Object.entries(executablesOf(root, 'ours')).filter(([app]) => /^(attacher|resizer)$/.test(app))
  const own = driver.inMemory === true ? start('sh', ['-c', `exec ${command}`], { cwd: source }) : undefined
  if (own !== undefined) await eventually('the driver', () => existsSync(socket), { within: 60_000 })
  try {
    const tested = start(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        main,
        'test',
        `--driver=unix://${socket}`,
        `--node=unix://${socket}`,
        ...sidecars.map(([app, path]) => `--${app}=${path}`),
        ...(own === undefined ? [`--driver-command=${command}`] : []),
        ...(driver.flags ?? []),
        `--chaos=${values.seeds}`,
        `--report=${join(report, 'junit.xml')}`,
        `--markdown=${join(report, 'report.md')}`,
      ],
      { cwd: source, stdio: ['ignore', 'inherit', 'inherit'] },
    )
    const timer = setTimeout(() => void stop(tested), WITHIN_MS)
    const exit = await exitOf(tested)
    clearTimeout(timer)
    return exit
  } finally {
    if (own !== undefined) await stop(own)
  }
}

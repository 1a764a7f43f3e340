import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { SIDECAR_NAMES } from '../build/image-names.ts'
import { type Print, writeImageNames } from '../cluster/up.ts'
import type { SidecarVariant, TestGroup, TestSelection } from '../command/options.ts'
import { RefusedError } from '../command/refusal.ts'
import { deploy } from '../deploy/deploy.ts'
import { driverFacts } from '../deploy/driver-facts.ts'
import { testDriver } from '../deploy/manifests.ts'
import { FOLDERS, programsOf } from '../machine/folders.ts'
import { inside, logInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { commonSeconds, countsOf, differences, isAsGoodAs, readReport, type TestRun } from '../results/ginkgo-report.ts'
import { expectThat } from './report.ts'

interface Expressions {
  readonly focus: string
  readonly skip: string
}

const REPORT = 'report.json'
/** How many tests run at once. They mostly wait. */
const PROCESSES = '8'

const NEVER = '\\[Disruptive\\]|Feature:(Windows|VolumeSourceXFS|snapshotmetadata)|\\(xfs\\)'

/** The tests of each group. Disruptive tests need SSH to the node; the others of NEVER need programs that are missing. */
const GROUPS: Readonly<Record<TestGroup, Expressions>> = {
  usual: { focus: 'External.Storage', skip: `${NEVER}|\\[Slow\\]|\\[Serial\\]|Feature:SELinux` },
  slow: { focus: 'External.Storage.*(\\[Slow\\]|\\[Serial\\])', skip: `${NEVER}|any volume data source|at scale` },
  mock: { focus: 'CSI Mock', skip: `${NEVER}|\\[Slow\\]|\\[Serial\\]|SELinux|Alpha` },
  // About twenty tests, for the check of each change.
  short: {
    focus: `External.Storage.*(${[
      'CSI Ephemeral-volume',
      '\\(default fs\\)\\] (provisioning|volumes|volume-modify|read-write-once-pod)',
      '\\(default fs\\)\\(allowExpansion\\)',
      'Dynamic Snapshot',
    ].join('|')})`,
    skip: `${NEVER}|\\[Slow\\]|\\[Serial\\]`,
  },
}

/**
 * The result of one run of the storage tests, as the table of results shows it. `isGood` compares it with the last run
 * of the Go sidecars.
 */
export interface StorageTestResult {
  readonly text: string
  readonly seconds: number
  readonly isGood: boolean
}

/** Runs Kubernetes' storage tests against the deployed driver, and compares them with the last run with Go. */
export async function storageTests(
  node: NodeRecord,
  { sidecars, selection, print }: { sidecars: SidecarVariant; selection: TestSelection; print: Print },
): Promise<StorageTestResult> {
  const { group, focus } = selection
  if (group === 'mock' && node.driver !== 'hostpath') {
    throw new RefusedError(
      'the mock tests run csi-driver-host-path as their driver: up --driver hostpath=FILE --registrar FILE',
    )
  }
  deploy(node, sidecars)
  if (group === 'mock') useAsUpstream(node, sidecars === 'go' ? 'go' : 'ours')
  const tests = focus === undefined ? group : 'selected'
  // Outcomes of another driver or version are no comparison.
  const folderOf = (which: SidecarVariant): string =>
    join(FOLDERS.results, [tests, node.kubernetes, node.driver, which].join('-'))
  const folder = folderOf(sidecars)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const driver = join(folder, 'driver.json')
  writeFileSync(driver, JSON.stringify(testDriver(driverFacts(node.driver))))
  const programs = programsOf(node.kubernetes)
  const selected = ['--focus', focus ?? GROUPS[group].focus, '--skip', GROUPS[group].skip]
  const report = ['--output-dir', folder, '--json-report', REPORT]
  const ginkgo = ['-p', '--procs', PROCESSES, '--no-color', '--timeout', '3h', ...selected, ...report]
  const e2e = ['--kubeconfig', join(FOLDERS.state, 'admin.conf'), '--provider', 'skeleton']
  const quiet = ['--minStartupPods', '0', '--allowed-not-ready-nodes', '0', '--disable-log-dump']
  const command = [join(programs, 'ginkgo'), ...ginkgo, join(programs, 'e2e.test'), '--', ...e2e, ...quiet]
  print(`running the ${group} storage tests with ${sidecars}; their log is in ${folder}`)
  const start = systemClock.monotonic()
  const log = join(folder, 'log')
  await logInside(node, [...command, '--node-os-distro', 'debian', '--storage.testdriver', driver], log)
  const seconds = Math.round((systemClock.monotonic() - start) / 1000)
  if (group === 'mock') useAsUpstream(node, 'go')
  const run = reportIn(folder)
  expectThat(run.size > 0, `no test has run: ${log} says why`)
  const go = sidecars === 'go' ? new Map() : reportIn(folderOf('go'))
  return { ...summary(run, go, print), seconds }
}

/** Compares the outcomes with those of the Go sidecars, if there are any. */
function summary(run: TestRun, go: TestRun, print: Print): Omit<StorageTestResult, 'seconds'> {
  const { passed, failed, skipped } = countsOf(run)
  for (const [name, { state }] of run) if (state === 'failed') print(`failed: ${name}`)
  const counts = `${passed} passed, ${failed} failed, ${skipped} do not apply`
  const isGood = isAsGoodAs(go, run)
  if (go.size === 0) return { text: counts, isGood }
  for (const line of differences(go, run)) print(line)
  const times = commonSeconds(go, run)
  print(`the tests that pass with both take ${times.other} s, and ${times.go} s with Go`)
  return { text: counts, isGood }
}

function reportIn(folder: string): TestRun {
  const file = join(folder, REPORT)
  return existsSync(file) ? readReport(readFileSync(file, 'utf8')) : new Map()
}

/** Makes the Go sidecars or ours answer to the names of the Go sidecars, and forgets the images pulled until now. */
function useAsUpstream(node: NodeRecord, sidecars: 'go' | 'ours'): void {
  writeImageNames(node.kubernetes, sidecars)
  const ctr = ['ctr', '--address', '/run/containerd/containerd.sock', '--namespace', 'k8s.io', 'images']
  const pattern = new RegExp(`/sig-storage/csi-(${SIDECAR_NAMES.join('|')})[:@]`)
  const pulled = inside(node, [...ctr, 'ls', '-q'])
    .split('\n')
    .filter((name) => pattern.test(name))
  if (pulled.length > 0) inside(node, [...ctr, 'rm', ...pulled])
}

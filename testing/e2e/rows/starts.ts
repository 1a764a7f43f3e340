import { deepStrictEqual as equal } from 'node:assert'
import type { DifferenceName } from '@csi-sidecars/kubectl-csi/swap-changes'
import type { TestContext } from '../harness/context.ts'
import type { DriverOptions } from '../harness/driver/driver.ts'
import type { TestedApp } from '../harness/subject.ts'
import { RECORDS, testsOf, WITHOUT_API } from '../harness/test.ts'
import { type Answers, answer, made, type Of } from './actions.ts'
import type { SeenStep } from './recorded.ts'
import { checkDifferences, expectedOf, tracesBeside } from './row.ts'

/** One start of a sidecar, which ends by itself. */
interface Start {
  /** The arguments. With a driver they follow those for the driver and the API server. */
  readonly args?: Of<readonly string[]>
  readonly env?: NodeJS.ProcessEnv
  /** The driver of the sidecar. Undefined: the sidecar gets only the arguments. */
  readonly driver?: Partial<DriverOptions>
  readonly answers?: Answers
  /** Texts in lines of the log that are no warnings. */
  readonly logs?: readonly string[]
}

/** A row of starts, each of which is a step of its trace. */
interface StartsRow {
  readonly starts: readonly Start[]
  /** The intended differences between the two traces. */
  readonly differs?: readonly DifferenceName[]
}

/**
 * Returns a function that adds a row of starts to a group. The trace of a start has the exit code, the warnings and
 * errors or the lines around the list of flags, and the names of the calls to the driver.
 */
export function startsOf(app: TestedApp, group: string, file: string) {
  const test = testsOf(app, group, { ...WITHOUT_API, isRow: true })
  const traces = tracesBeside(file)
  return (sentence: string, row: StartsRow): void => {
    const title = `${app}, ${group}: ${sentence}`
    traces.addTitle(title)
    test(sentence, async (t) => {
      const seen: SeenStep[] = []
      for (const start of row.starts) seen.push(await ended(t, start))
      if (RECORDS) return traces.record(title, t.ours, seen)
      const recorded = traces.stepsOf(title)
      equal(seen, expectedOf(recorded, t.ours))
      checkDifferences(recorded, row)
    })
  }
}

interface End {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts the sidecar and waits until it has ended. */
async function ended(t: TestContext, start: Start): Promise<SeenStep> {
  const args = made(t, start.args ?? [])
  const withoutNames = (text: string): string =>
    text.replaceAll(t.executable(), 'PROGRAM').replaceAll(t.folder, 'FOLDER').replaceAll(t.driverName, 'DRIVER')
  const { end, called } = await (start.driver === undefined ? executed(t, start, args) : withDriver(t, start, args))
  const lines = [`exit code ${end.code}`, ...textsOf(end), ...called]
  const missing = (start.logs ?? []).filter((text) => !end.stderr.includes(text))
  equal(missing, [], end.stderr)
  const variables = Object.entries(start.env ?? {}).map(([name, value]) => `${name}=${value}`)
  return { name: withoutNames(['start', ...variables, ...args].join(' ')), lines: lines.map(withoutNames) }
}

interface Ended {
  readonly end: End
  /** The calls to the driver, as a line. */
  readonly called: readonly string[]
}

async function executed(t: TestContext, { env = {} }: Start, args: readonly string[]): Promise<Ended> {
  return { end: await t.exec(args, { env }), called: [] }
}

async function withDriver(t: TestContext, start: Start, args: readonly string[]): Promise<Ended> {
  const driver = await t.driver(start.driver)
  answer(driver, start.answers ?? {})
  const sidecar = await t.sidecar({ driver, args, ...(start.env && { env: start.env }) })
  const { code } = await sidecar.end()
  const methods = driver.calls.map(({ method }) => method)
  return {
    end: { code, stdout: sidecar.stdout, stderr: sidecar.stderr },
    called: [methods.length > 0 ? `calls ${methods.join(', ')}` : 'no calls'],
  }
}

const LOG_LINE = /^[IWEF]\d{4} [^\]]*\] /

/** The line of our help that names the version of the Go sidecar. */
const REPLACES = /^Takes the place of /

/** Returns the standard output, and all warnings and errors. Without a log, the lines around the list of flags. */
function textsOf({ stdout, stderr }: End): readonly string[] {
  const printed = stdout.split('\n').filter((line) => line !== '')
  const lines = stderr.split('\n').filter((line) => line !== '')
  const logged = lines.filter((line) => LOG_LINE.test(line))
  const serious = logged.filter((line) => !line.startsWith('I')).map((line) => line[0] + line.replace(LOG_LINE, ' '))
  const aroundFlags = lines.filter((line) => !/^\s/.test(line) && !REPLACES.test(line))
  return [...printed, ...(logged.length > 0 ? serious : new Set(aroundFlags))]
}

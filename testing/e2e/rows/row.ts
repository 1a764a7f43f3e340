import { deepStrictEqual as equal } from 'node:assert'
import type { DifferenceName } from '@csi-sidecars/kubectl-csi/swap-changes'
import type { TestContext } from '../harness/context.ts'
import type { TestedApp } from '../harness/subject.ts'
import { RECORDS, type TestOptions, testsOf } from '../harness/test.ts'
import { eventually, repeat } from '../harness/waiting.ts'
import { linesOf, type RecordedStep, type RecordedSteps, RecordedTraces, type SeenStep } from './recorded.ts'
import { LATER_PREFIX, Trace } from './trace.ts'

/** Something that a person, a controller, another client or a fault does. `At` is the scene of the row. */
export interface Action<At> {
  /** The line before its effects in the trace. */
  readonly name: string
  readonly run: (t: TestContext, at: At) => Promise<unknown>
}

/** One action, or several at a time. Their effects have ended before the next step begins. */
export type Step<At> = Action<At> | readonly Action<At>[]

/** How a kind of rows begins, and how its steps end. */
interface Ground<At, Setup> {
  readonly app: TestedApp
  /** Starts what the steps act on. */
  readonly scene: (t: TestContext, setup: Setup) => Promise<At>
  /** Gives the running sidecar work on an object with this name, and waits until this work is done. */
  readonly laterWork: (t: TestContext, at: At, name: string) => Promise<unknown>
}

/** A row: how its scene begins, and what happens then. */
interface Row<At, Setup> extends TestOptions {
  readonly setup?: Setup
  readonly steps: readonly Step<At>[]
  /** Texts in lines of the log that both sidecars write. */
  readonly logs?: readonly string[]
  /** True if the sidecar does several things at a time. The lines of each step are then sorted. */
  readonly anyOrder?: true
  /** The intended differences between the two traces. */
  readonly differs?: readonly DifferenceName[]
}

/** The time without a new line after which a recorded step has ended. */
const QUIET_MS = 6_000
/** The time for the recording of one row. */
const RECORDED_WITHIN_MS = 600_000

/**
 * Returns a function that adds a row to a group. The trace of a row is recorded from the Go sidecar beside the file of the
 * row, with the ending `.txt`. Our sidecar must have the same trace, or the one that is recorded as its own.
 */
export function rowsOf<At, Setup extends object>(
  { app, scene, laterWork }: Ground<At, Setup>,
  { group, file }: { readonly group: string; readonly file: string },
) {
  const test = testsOf(app, group, { isRow: true })
  const traces = tracesBeside(file)
  return (sentence: string, row: Row<At, Setup>): void => {
    const { setup = {} as Setup, steps, logs = [], anyOrder = false } = row
    const title = `${group}: ${sentence}`
    traces.addTitle(title)
    test(sentence, RECORDS ? { ...row, within: RECORDED_WITHIN_MS } : row, async (t) => {
      const recorded = traces.stepsOf(title)
      // A row that runs only with ours has one trace. A Go sidecar has it only without the defect that the row shows.
      const isOurs = t.ours || row.only === 'ours'
      // A server of an older version has no such field.
      if (recorded.some(({ lines }) => lines.some(([, line]) => line.includes('"errorCode":')))) t.requires('errorCode')
      const trace = new Trace(t)
      t.observers = trace.observers
      const at = await scene(t, setup)
      const seen: SeenStep[] = []
      // A Go sidecar often repeats its first try at once, so the same lines may follow in the next step.
      const earlier = new Set<string>()
      for (const [index, step] of steps.entries()) {
        const actions = [step].flat() as readonly Action<At>[]
        for (const { run } of actions) await run(t, at)
        if (RECORDS) await untilQuiet(trace, QUIET_MS)
        else await untilLines(trace, isOurs, recorded[index])
        if (t.sidecars.some(({ exit }) => exit === undefined)) await laterWork(t, at, `${LATER_PREFIX}${index}`)
        const taken = trace.takeLines()
        const lines = anyOrder ? taken.toSorted() : taken
        const expected = linesOf(recorded[index], isOurs)
        const isRepeated = (line: string): boolean => earlier.has(line) && !expected.includes(line)
        seen.push({
          name: actions.map(({ name }) => name).join(', '),
          lines: RECORDS || t.ours ? lines : lines.filter((line) => !isRepeated(line)),
        })
        for (const line of lines) earlier.add(line)
      }
      for (const text of logs) await t.logged(text)
      if (RECORDS) traces.record(title, t.ours, seen)
      else {
        equal(seen, expectedOf(recorded, isOurs))
        checkDifferences(recorded, row)
      }
    })
  }
}

/** Returns the recorded steps of our sidecar, or of the Go sidecar. */
export function expectedOf(recorded: RecordedSteps, isOurs: boolean): readonly SeenStep[] {
  return recorded.map((step) => ({ name: step.name, lines: linesOf(step, isOurs) }))
}

/** Fails if the two recorded traces differ and the row names no difference, or the reverse. */
export function checkDifferences(
  recorded: RecordedSteps,
  { only, differs: names }: Pick<Partial<Row<never, never>>, 'only' | 'differs'>,
): void {
  if (only !== undefined) return
  const differs = recorded.some(({ lines }) => lines.some(([owner]) => owner !== ' '))
  equal(
    differs,
    names !== undefined,
    differs ? 'the traces differ, and the row does not say why' : 'the traces do not differ',
  )
}

const recordedByGroup = new Map<string, RecordedTraces>()

/** Returns the recorded traces of a file with rows. */
export function tracesBeside(file: string): RecordedTraces {
  const path = file.replace(/\.ts$/, '.txt')
  const traces = recordedByGroup.get(path) ?? new RecordedTraces(path)
  recordedByGroup.set(path, traces)
  return traces
}

/** Waits until the trace has all lines of a step. Later lines and a wrong order are found by the comparison. */
async function untilLines(trace: Trace, isOurs: boolean, step: RecordedStep | undefined): Promise<void> {
  const missing = (): readonly string[] => linesOf(step, isOurs).filter((line) => !trace.lines.includes(line))
  try {
    await eventually('all lines of the step', () => missing().length === 0, { every: 10 })
  } catch (cause) {
    throw new Error(
      `${missing().length} lines are missing in ${step?.name}: ${missing().join('\n')}\nthere are:\n${trace.lines.join('\n')}`,
      { cause },
    )
  }
}

async function untilQuiet(trace: Trace, quietMs: number): Promise<void> {
  let before = -1
  await repeat(quietMs, () => {
    const grows = before < trace.lines.length
    before = trace.lines.length
    return grows
  })
}

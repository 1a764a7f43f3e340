// Runs the same scenarios with the real kube-controller-manager and with the controllers of the embedded cluster, each
// on a real kube-apiserver. Prints the differences after each step.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from '@csi-sidecars/command'
import { build, controlPlaneBinaries, hasGo } from '../harness/programs/binaries.ts'
import { repeat } from '../harness/waiting.ts'
import type { Scenario, ScenarioSide } from './scenario.ts'
import { attachScenarios } from './scenarios/attach.ts'
import { bindScenarios } from './scenarios/bind.ts'
import { provisionScenarios, reclaimScenarios } from './scenarios/provision.ts'
import { type ParityCluster, RESYNC_MS, startSide } from './side.ts'
import { type View, viewOf } from './view.ts'

const { values } = readArguments('npm run parity -- [--grep TEXT] [--kubernetes 1.38] [--long] [--list]', {
  options: {
    grep: { type: 'string', multiple: true, default: [] },
    kubernetes: { type: 'string' },
    long: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
  },
})

const root = resolve(import.meta.dirname, '../../..')
const printLine = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
const all: readonly NumberedScenario[] = [bindScenarios, provisionScenarios, reclaimScenarios, attachScenarios]
  .flat()
  .map((scenario, index) => ({ id: `p${String(index + 1).padStart(2, '0')}`, scenario }))

/** The result of a scenario: the differences between the two clusters, and the failed actions. */
export interface Verdict {
  readonly scenario: Scenario
  /** One line per difference or failed action. Empty if both clusters are equal after each step. */
  readonly lines: readonly string[]
}

/** A scenario with its ID, such as `p07`. The ID follows the order of all scenarios, and is part of object names. */
export interface NumberedScenario {
  readonly id: string
  readonly scenario: Scenario
}

async function main(): Promise<number> {
  const selected = all
    .filter(({ scenario }) => values.long || !scenario.long)
    .filter(({ scenario }) => values.grep.every((text) => scenario.name.includes(text)))
  if (values.list) {
    for (const { id, scenario } of selected) printLine(`${id} ${scenario.name}`)
    return 0
  }
  if (values.kubernetes !== undefined) process.env['E2E_KUBERNETES'] = values.kubernetes
  const assets = controlPlaneBinaries(root)
  if ('remedy' in assets) {
    printLine(assets.remedy)
    return 2
  }
  if (hasGo()) build(root, 'kube-controller-manager')
  const verdicts = await compare(selected, assets.folder)
  for (const verdict of verdicts) print(verdict)
  const failed = verdicts.filter(({ lines }) => lines.length > 0).length
  printLine(`${verdicts.length - failed} passed, ${failed} failed`)
  return failed === 0 && verdicts.length > 0 ? 0 : 1
}

async function compare(selected: readonly NumberedScenario[], binaries: string): Promise<readonly Verdict[]> {
  const folder = join(root, '.cache', 'e2e', 'parity')
  mkdirSync(folder, { recursive: true })
  await using stack = new AsyncDisposableStack()
  const [real, ours] = await Promise.all([
    startSide('real', { binaries, folder }),
    startSide('ours', { binaries, folder }),
  ])
  stack.defer(() => real.stop())
  stack.defer(() => ours.stop())
  const verdicts: Verdict[] = []
  for (const round of new Set(selected.map(roundOf))) {
    verdicts.push(
      ...(await play(
        selected.filter((each) => roundOf(each) === round),
        [real, ours],
      )),
    )
  }
  return verdicts
}

function roundOf({ scenario }: NumberedScenario): number {
  return scenario.round ?? 1
}

function print({ scenario, lines }: Verdict): void {
  printLine(`${lines.length === 0 ? 'equal ' : 'DIFFER'}  ${scenario.name}`)
  for (const line of lines) printLine(`          ${line}`)
}

/** A step ends after this time without changes. It is longer than the resync period of the controllers. */
const QUIET_MS = RESYNC_MS + 1500
const LOOK_MS = 300
const TIME_LIMIT_MS = 60_000

interface Running {
  readonly id: string
  readonly scenario: Scenario
  readonly scenes: ReadonlyMap<ParityCluster, ScenarioSide>
  readonly lines: string[]
  /** The number of compared objects and events. */
  compared: number
}

/**
 * Runs scenarios in parallel on both clusters, step by step. After each step, waits until the objects settle, and
 * compares them.
 */
export async function play(
  some: readonly NumberedScenario[],
  sides: readonly [ParityCluster, ParityCluster],
): Promise<readonly Verdict[]> {
  const running = await Promise.all(some.map((each) => begin(each, sides)))
  const most = Math.max(0, ...some.map(({ scenario }) => scenario.steps.length))
  for (let at = 0; at < most; at += 1) {
    const active = running.filter(({ scenario }) => at < scenario.steps.length)
    await Promise.all(active.flatMap((each) => sides.map((side) => act(each, side, at))))
    const views = await settle(active, sides, at)
    for (const each of active) note(each, at, views)
  }
  return running.map(({ scenario, lines, compared }) => ({
    scenario,
    lines: compared === 0 ? [...lines, 'there was nothing to compare'] : lines,
  }))
}

async function begin({ id, scenario }: NumberedScenario, sides: readonly ParityCluster[]): Promise<Running> {
  const scenes = await Promise.all(
    sides.map(async (side): Promise<[ParityCluster, ScenarioSide]> => [side, await side.sceneOf(id)]),
  )
  return { id, scenario, scenes: new Map(scenes), lines: [], compared: 0 }
}

/** Runs the actions of a step in order. The report gets a line for each action that the API server refuses. */
async function act({ scenario, scenes, lines }: Running, side: ParityCluster, at: number): Promise<void> {
  const scene = scenes.get(side)
  if (scene === undefined) return
  for (const action of scenario.steps[at]?.actions ?? []) {
    try {
      await action(scene)
    } catch (error) {
      lines.push(`step ${at + 1}, ${side.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

type Views = ReadonlyMap<string, readonly [real: View, ours: View]>

/** Waits until neither cluster has changed for a while and every expected condition holds. */
async function settle(
  active: readonly Running[],
  sides: readonly [ParityCluster, ParityCluster],
  at: number,
): Promise<Views> {
  const limits = active.map(({ scenario }) => scenario.steps[at]?.timeLimitMs ?? TIME_LIMIT_MS)
  const end = performance.now() + Math.max(...limits)
  let last = ''
  let since = performance.now()
  let views = await viewsOf(active, sides)
  await repeat(LOOK_MS, async () => {
    views = await viewsOf(active, sides)
    const now = performance.now()
    const text = JSON.stringify([...views.values()].flat().map(({ objects, events }) => [plain(objects), [...events]]))
    if (text !== last) since = now
    last = text
    const waits = active.some(({ id, scenario }) => !isThere(views.get(id), scenario, at))
    return (now - since <= QUIET_MS || waits) && now <= end
  })
  return views
}

function plain(objects: View['objects']): unknown {
  return [...objects].map(([name, fields]) => [name, [...fields]])
}

async function viewsOf(
  active: readonly Running[],
  [real, ours]: readonly [ParityCluster, ParityCluster],
): Promise<Views> {
  const [there, here] = await Promise.all([real.objects(), ours.objects()])
  return new Map(active.map(({ id }) => [id, [viewOf(id, there), viewOf(id, here)] as const]))
}

function isThere(views: readonly [View, View] | undefined, { steps }: Scenario, at: number): boolean {
  const until = steps[at]?.until
  return until === undefined || views?.every(until) === true
}

function note(running: Running, at: number, views: Views): void {
  const { id, scenario, lines } = running
  const [real, ours] = views.get(id) ?? []
  if (real === undefined || ours === undefined) return
  running.compared += real.objects.size + real.events.size
  for (const line of differences(real, ours)) lines.push(`step ${at + 1}, ${line}`)
  const until = scenario.steps[at]?.until
  if (until?.(real) === false) lines.push(`step ${at + 1}, real: what was waited for did not come`)
  if (until?.(ours) === false) lines.push(`step ${at + 1}, ours: what was waited for did not come`)
}

/** Returns the differences of one scenario, one line per field with both values. */
function differences(real: View, ours: View): readonly string[] {
  const lines: string[] = []
  for (const name of union(real.objects.keys(), ours.objects.keys())) {
    const there = real.objects.get(name)
    const here = ours.objects.get(name)
    if (there === undefined || here === undefined) {
      lines.push(`${name}: ${there === undefined ? 'only ours has it' : 'only the real one has it'}`)
      continue
    }
    for (const field of union(there.keys(), here.keys())) {
      const [expected, actual] = [there.get(field), here.get(field)]
      if (expected !== actual) lines.push(`${name}, ${field}: real ${show(expected)}, ours ${show(actual)}`)
    }
  }
  for (const event of real.events.difference(ours.events)) lines.push(`event, only real: ${event}`)
  for (const event of ours.events.difference(real.events)) lines.push(`event, only ours: ${event}`)
  return lines
}

function union(a: Iterable<string>, b: Iterable<string>): readonly string[] {
  return [...new Set([...a, ...b])].sort()
}

function show(value: string | undefined): string {
  return value ?? '-'
}

process.exitCode = await main()

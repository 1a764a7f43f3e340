// Runs the same scenarios with the real kube-controller-manager and with the controllers of the embedded cluster, each
// on a real kube-apiserver. Prints the differences after each step.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from '@csi-sidecars/command'
import { controlPlaneBinaries } from '../tools/binaries.ts'
import { type NumberedScenario, play, type Verdict } from './play.ts'
import { attachScenarios } from './scenarios/attach.ts'
import { bindScenarios } from './scenarios/bind.ts'
import { provisionScenarios } from './scenarios/provision.ts'
import { reclaimScenarios } from './scenarios/reclaim.ts'
import { startSide } from './side.ts'

const { values } = readArguments('npm run parity -- [--grep TEXT] [--kubernetes 1.37] [--long] [--list]', {
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

process.exitCode = await main()

async function main(): Promise<number> {
  const wanted = all
    .filter(({ scenario }) => values.long || !scenario.long)
    .filter(({ scenario }) => values.grep.every((text) => scenario.name.includes(text)))
  if (values.list) {
    for (const { id, scenario } of wanted) printLine(`${id} ${scenario.name}`)
    return 0
  }
  if (values.kubernetes !== undefined) process.env['E2E_KUBERNETES'] = values.kubernetes
  const assets = controlPlaneBinaries(root)
  if ('remedy' in assets) {
    printLine(assets.remedy)
    return 2
  }
  const verdicts = await compare(wanted, assets.folder)
  for (const verdict of verdicts) print(verdict)
  const failed = verdicts.filter(({ lines }) => lines.length > 0).length
  printLine(`${verdicts.length - failed} passed, ${failed} failed`)
  return failed === 0 && verdicts.length > 0 ? 0 : 1
}

async function compare(wanted: readonly NumberedScenario[], binaries: string): Promise<readonly Verdict[]> {
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
  for (const round of new Set(wanted.map(roundOf))) {
    verdicts.push(
      ...(await play(
        wanted.filter((each) => roundOf(each) === round),
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

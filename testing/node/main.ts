// Starts a real Kubernetes node on this machine, and runs tests of the sidecars there.
import { messageOf } from '@csi-sidecars/base'
import { up } from './cluster/up.ts'
import {
  type NodeCommand,
  type NodeSettings,
  parseOptions,
  type SidecarVariant,
  type TestCommand,
} from './command/options.ts'
import { RefusedError } from './command/refusal.ts'
import { deploy } from './deploy/deploy.ts'
import { checkMachine } from './machine/checks.ts'
import { runInside } from './machine/inside.ts'
import { removeNode } from './machine/leftovers.ts'
import { type NodeRecord, runningNode } from './machine/record.ts'
import { lineOfLast, recordResult, storedResults, writeTable } from './results/table.ts'
import { chart } from './runs/chart.ts'
import { documents } from './runs/documents.ts'
import { faults } from './runs/faults.ts'
import { life } from './runs/life.ts'
import type { RunSummary } from './runs/pods.ts'
import { storageTests } from './runs/storage-tests.ts'
import { swap } from './runs/swap.ts'

const INTERRUPTED = 130
const print = (line: string): void => void process.stdout.write(`${line}\n`)

process.exitCode = await main()

/** Runs the command and returns its exit code: 0 if all is as promised, 1 if not, 2 if the command cannot run. */
async function main(): Promise<number> {
  try {
    const options = await parseOptions(process.argv.slice(2), (text) => void process.stdout.write(text))
    if (options === 'answered') return 0
    checkMachine()
    return await run(options.command, options.settings)
  } catch (error) {
    process.stderr.write(`${error instanceof RefusedError ? error.message : messageOf(error)}\n`)
    return error instanceof RefusedError ? 2 : 1
  }
}

async function run(command: NodeCommand, settings: NodeSettings): Promise<number> {
  switch (command.kind) {
    case 'up':
      await start(settings)
      return 0
    case 'down':
      await removeNode()
      return 0
    case 'run':
      return runInside(requireNode(), command.command)
    case 'deploy':
      deploy(requireNode(), command.sidecars)
      return 0
    case 'results':
      writeTable(storedResults())
      return 0
    default:
      return await withNode(settings, (node) => test(node, command))
  }
}

/** Runs tests, and records and prints the row of each. Returns 1 if one fails. */
async function test(node: NodeRecord, command: TestCommand): Promise<number> {
  const { kubernetes, driver } = node
  const record = (command: string, result: RunSummary, sidecars?: SidecarVariant): void => {
    recordResult({ command, sidecars, kubernetes, driver, ...result })
    print(lineOfLast(storedResults()) ?? '')
  }
  switch (command.kind) {
    case 'life':
      for (const sidecars of command.sidecars) {
        deploy(node, sidecars)
        const seconds = await life(node, print)
        record('life', { text: 'nothing is left', seconds }, sidecars)
      }
      return 0
    case 'storage-tests': {
      let areGood = true
      for (const sidecars of command.sidecars) {
        const { isGood, ...result } = await storageTests(node, { sidecars, selection: command.selection, print })
        const { group, focus } = command.selection
        // A part of a group is no result of the group.
        if (focus === undefined) record(`storage-tests --group ${group}`, result, sidecars)
        else print(result.text)
        areGood &&= isGood
      }
      return areGood ? 0 : 1
    }
    case 'swap':
      record('swap', await swap(node, print))
      return 0
    case 'documents':
      record('documents', await documents(node, print))
      return 0
    case 'faults':
      record('faults', await faults(node, print))
      return 0
    case 'chart':
      record('chart', await chart(node, print))
      return 0
  }
}

/** Uses the running node. Without one, starts a node for this command and ends it afterwards. */
async function withNode(settings: NodeSettings, use: (node: NodeRecord) => Promise<number>): Promise<number> {
  const running = runningNode()
  if (running?.isReady === true) {
    const { kubernetes = running.kubernetes, driver } = settings
    if (kubernetes === running.kubernetes && (driver?.kind ?? running.driver) === running.driver)
      return await use(running)
    throw new RefusedError('the running node has another version or another driver: npm run node -- down')
  }
  const node = await start(settings)
  try {
    return await use(node)
  } finally {
    await removeNode()
  }
}

/** Starts a node. Nothing remains of a start that fails or is interrupted. */
async function start(settings: NodeSettings): Promise<NodeRecord> {
  const interrupted = (): void => {
    void removeNode().finally(() => process.exit(INTERRUPTED))
  }
  process.once('SIGINT', interrupted)
  process.once('SIGTERM', interrupted)
  try {
    return await up(settings, print)
  } catch (error) {
    if (runningNode()?.isReady !== true) await removeNode()
    throw error
  } finally {
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}

function requireNode(): NodeRecord {
  const node = runningNode()
  if (node?.isReady !== true) throw new RefusedError('no node runs: npm run node -- up')
  return node
}

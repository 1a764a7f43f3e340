// The embedded cluster under a storm: `node testing/bench/devcluster.ts [pods] [nodes]`, or as part of `npm run bench`.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { textOf } from '../e2e/harness/process/processes.ts'
import { type Cost, costOf } from './process-cost.ts'
import { table } from './report.ts'
import { copiedExecutable } from './sidecar.ts'

const MAIN = fileURLToPath(new URL('../../apps/devcluster/dist/main.mjs', import.meta.url))
const FLAGS = fileURLToPath(new URL('../../tools/cluster-flags.json', import.meta.url))
const SAMPLE_MS = 250
/** The cluster's own process, and the sidecars in the order in which it starts them. */
const ROLES = ['cluster', 'attacher', 'resizer'] as const
type Role = (typeof ROLES)[number]

/** The program of `npm start` with a storm, the built sidecars as its children, and what each of the three has cost. */
export async function benchDevcluster(pods = 5000, nodes = 100): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-devcluster-'))
  const child = startStorm(pods, nodes, directory)
  try {
    const output = textOf(child.stdout)
    const exited = once(child, 'exit')
    const costs = await watchCosts(child)
    const [code] = await exited
    if (code !== 0) throw new Error(`the embedded cluster ended with ${code}:\n${output().slice(-2000)}`)
    table(`embedded cluster, a storm of ${pods} pods with a volume each on ${nodes} nodes`, {
      'all running after (s)': figure(output(), /all running after ([\d.]+) s/),
      'all gone after, more (s)': figure(output(), /all gone after ([\d.]+) s/),
      'API requests for each pod and volume': figure(output(), /([\d.]+) for each pod and volume/),
      ...Object.fromEntries(
        ROLES.flatMap((role): [string, number][] => [
          [`${role}, peak (MiB)`, costs.get(role)?.peak ?? Number.NaN],
          [`${role}, CPU (s)`, costs.get(role)?.cpuSeconds ?? Number.NaN],
        ]),
      ),
    })
  } finally {
    child.kill('SIGTERM')
    rmSync(directory, { recursive: true, force: true })
  }
}

function startStorm(pods: number, nodes: number, directory: string): ChildProcess {
  const sidecars = (['attacher', 'resizer'] as const).map((app) => `--${app}=${copiedExecutable(app, directory)}`)
  const args = [MAIN, '--exit', `--nodes=${nodes}`, `--load=attach=${pods}`, ...sidecars]
  const flags: readonly string[] = JSON.parse(readFileSync(FLAGS, 'utf8'))
  return spawn(process.execPath, [...flags, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, MALLOC_ARENA_MAX: '1' },
  })
}

/** The last known cost of each process; resolves when the cluster's process has ended. */
async function watchCosts(cluster: ChildProcess): Promise<ReadonlyMap<Role, Cost>> {
  const costs = new Map<Role, Cost>()
  while (cluster.exitCode === null && cluster.signalCode === null) {
    const pid = cluster.pid ?? 0
    const sidecars = childrenOf(pid)
    const pids: Readonly<Record<Role, number | undefined>> = {
      cluster: pid,
      attacher: sidecars.get('csi-attacher'),
      resizer: sidecars.get('csi-resizer'),
    }
    for (const role of ROLES) note(role, pids[role], costs)
    await sleep(SAMPLE_MS)
  }
  return costs
}

function note(role: Role, pid: number | undefined, costs: Map<Role, Cost>): void {
  const cost = pid === undefined ? undefined : unlessGone(() => costOf(pid))
  if (cost !== undefined && Number.isFinite(cost.peak)) costs.set(role, cost)
}

/** The process's children by the names of their programs. */
function childrenOf(pid: number): ReadonlyMap<string, number> {
  const pids = unlessGone(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? ''
  const names = new Map<string, number>()
  for (const child of pids.split(' ').filter((each) => each !== '')) {
    const command = unlessGone(() => readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0')[0])
    if (command !== undefined) names.set(basename(command), Number(child))
  }
  return names
}

/** The kernel's figures of a process; undefined once it has ended. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function figure(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? Number.NaN)
}

if (import.meta.main) {
  const [pods, nodes] = process.argv.slice(2).map(Number)
  await benchDevcluster(pods, nodes)
}

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '@csi-sidecars/base'
import { CGROUP } from './folders.ts'

/** The cgroups of this machine: one hierarchy for each controller (v1 and hybrid), or a single hierarchy (v2). */
export type Hierarchies =
  | { readonly kind: 'v1'; readonly folders: readonly Hierarchy[] }
  | { readonly kind: 'v2'; readonly folder: string }

interface Hierarchy {
  readonly folder: string
  /** The mount options that select the hierarchy, such as `cpu,cpuacct` or `none,name=systemd`. */
  readonly options: string
}

/** The controllers that the kubelet and runc need. */
const NEEDED = ['cpu', 'cpuset', 'memory', 'pids']
const V1_CONTROLLERS = new Set([...NEEDED, 'cpuacct', 'blkio', 'devices', 'freezer', 'hugetlb', 'net_cls', 'net_prio'])
const REAP_TRIES = 50

/** Finds the hierarchies in the text of /proc/mounts. Undefined if a controller that a node needs is in none of them. */
export function hierarchiesIn(mounts: string, v2Controllers: (folder: string) => string): Hierarchies | undefined {
  const rows = mounts.split('\n').map((line) => line.split(' '))
  const folders = rows.flatMap(([, folder = '', type, options = '']): Hierarchy[] => {
    if (type !== 'cgroup') return []
    const names = options.split(',')
    const controllers = names.filter((word) => V1_CONTROLLERS.has(word))
    if (controllers.length > 0) return [{ folder, options: controllers.join() }]
    const name = names.find((word) => word.startsWith('name='))
    return name === undefined ? [] : [{ folder, options: `none,${name}` }]
  })
  const inV1 = new Set(folders.flatMap(({ options }) => options.split(',')))
  if (NEEDED.every((name) => inV1.has(name))) return { kind: 'v1', folders }
  const folder = rows.find(([, , type]) => type === 'cgroup2')?.[1]
  if (folder === undefined) return undefined
  const inV2 = new Set(v2Controllers(folder).trim().split(' '))
  return NEEDED.every((name) => inV2.has(name)) ? { kind: 'v2', folder } : undefined
}

export function hierarchies(): Hierarchies | undefined {
  return hierarchiesIn(readFileSync('/proc/mounts', 'utf8'), (folder) =>
    readFileSync(join(folder, 'cgroup.controllers'), 'utf8'),
  )
}

/** The folders that process 1 of the node enters. They are the roots that the node sees. */
export function nodeCgroups(found: Hierarchies): readonly string[] {
  const parents = found.kind === 'v2' ? [found.folder] : found.folders.map(({ folder }) => folder)
  return parents.map((folder) => join(folder, CGROUP))
}

/** The folders that all other processes of the node enter. In v2 a root with child cgroups may have no processes. */
export function processCgroups(found: Hierarchies): readonly string[] {
  return found.kind === 'v2' ? nodeCgroups(found).map((folder) => join(folder, 'processes')) : nodeCgroups(found)
}

/** Creates the node's cgroups. `cpuShares` is the part of a busy machine that the node gets; 1024 is usual. */
export function createCgroups(found: Hierarchies, cpuShares: number): void {
  if (found.kind === 'v2') enableControllers(found.folder)
  for (const folder of [...nodeCgroups(found), ...processCgroups(found)]) mkdirSync(folder, { recursive: true })
  for (const folder of nodeCgroups(found)) {
    const parent = join(folder, '..')
    // A new cpuset of v1 has no CPU and no memory, so no process can enter it.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      if (found.kind === 'v1' && existsSync(join(parent, file))) {
        writeFileSync(join(folder, file), readFileSync(join(parent, file)))
      }
    }
    if (existsSync(join(folder, 'cpu.shares'))) writeFileSync(join(folder, 'cpu.shares'), String(cpuShares))
    if (existsSync(join(folder, 'cpu.weight'))) writeFileSync(join(folder, 'cpu.weight'), String(weightOf(cpuShares)))
  }
}

/** Converts the shares of v1 (2 to 262144) to the weight of v2 (1 to 10000), as Kubernetes does. */
export function weightOf(shares: number): number {
  return Math.trunc(1 + ((shares - 2) * 9999) / 262_142)
}

/** Moves the processes out of the node's root, so that the kubelet can create cgroups there. Only v2 needs it. */
export function emptyRoot(found: Hierarchies): void {
  if (found.kind === 'v1') return
  const [root = ''] = nodeCgroups(found)
  for (const pid of processesIn(root)) writeFileSync(join(root, 'processes', 'cgroup.procs'), pid)
  enableControllers(root)
}

function enableControllers(folder: string): void {
  const controllers = readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ')
  const enabled = new Set(readFileSync(join(folder, 'cgroup.subtree_control'), 'utf8').trim().split(' '))
  const missing = controllers.filter((name) => V1_CONTROLLERS.has(name === 'io' ? 'blkio' : name) && !enabled.has(name))
  if (missing.length === 0) return
  writeFileSync(join(folder, 'cgroup.subtree_control'), missing.map((name) => `+${name}`).join(' '))
}

const processesIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean) : []

/** Returns the IDs of all processes of the node. */
export function nodeProcesses(found: Hierarchies): readonly number[] {
  const all = nodeCgroups(found).flatMap((folder) => tree(folder).flatMap(processesIn))
  return [...new Set(all.map(Number))].filter((pid) => pid > 0)
}

/** Kills all processes of the node and removes its cgroups. */
export async function removeCgroups(found: Hierarchies): Promise<void> {
  for (let tries = 0; tries < REAP_TRIES; tries += 1) {
    for (const pid of nodeProcesses(found)) killIfAlive(pid)
    const left = nodeCgroups(found)
      .flatMap(tree)
      .filter((folder) => !tryRemove(folder))
    if (left.length === 0) return
    await systemClock.sleep(200)
  }
  throw new Error(`the cgroup ${CGROUP} still has processes: ${nodeProcesses(found).join(' ')}`)
}

/** Returns the folder and all folders below it, the deepest first. */
function tree(folder: string): readonly string[] {
  if (!existsSync(folder)) return []
  const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [...inside.flatMap(({ name }) => tree(join(folder, name))), folder]
}

function tryRemove(folder: string): boolean {
  try {
    rmdirSync(folder)
    return true
  } catch {
    return !existsSync(folder)
  }
}

export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended since the cgroup was read.
  }
}

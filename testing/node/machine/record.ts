import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DriverChoice, KubernetesVersion } from '../command/options.ts'
import { FOLDERS } from './folders.ts'

/** The node that runs on this machine, as `up` has recorded it. */
export interface NodeRecord {
  /** Process 1 of the node's namespaces, by its ID outside of them. */
  readonly pid: number
  /** When process 1 started, so that a later process with this ID is not taken for it. */
  readonly startTime: string
  /** The cgroups that every process of the node enters. */
  readonly cgroups: readonly string[]
  readonly kubernetes: KubernetesVersion
  readonly driver: DriverChoice['kind']
  /** True after the node was ready once. */
  readonly isReady: boolean
}

const FILE = join(FOLDERS.state, 'node.json')

export function writeRecord(record: NodeRecord): void {
  writeFileSync(FILE, JSON.stringify(record))
}

/** Returns the record if its process 1 runs. */
export function runningNode(): NodeRecord | undefined {
  if (!existsSync(FILE)) return undefined
  const record = JSON.parse(readFileSync(FILE, 'utf8')) as NodeRecord
  return startTimeOf(record.pid) === record.startTime ? record : undefined
}

/** Returns the start time of a process, in ticks since the machine's start. Undefined if the process does not run. */
export function startTimeOf(pid: number): string | undefined {
  const file = `/proc/${pid}/stat`
  return existsSync(file) ? startTimeIn(readFileSync(file, 'utf8')) : undefined
}

/** Reads the start time from the text of /proc/PID/stat. Undefined for a process that has ended but is not reaped. */
export function startTimeIn(stat: string): string | undefined {
  // The name of the program is in parentheses, and can have spaces and parentheses.
  const [state, ...after] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return state === 'Z' ? undefined : after[18]
}

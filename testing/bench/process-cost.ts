import { readFileSync } from 'node:fs'
import { type Memory, memoryOf } from '../e2e/harness/process/memory.ts'

const TICKS_PER_SECOND = 100

/** The resources that a process has used so far. */
export interface Cost extends Memory {
  readonly cpuSeconds: number
}

/** Reads the kernel's figures of a running process. */
export function costOf(pid: number): Cost {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { ...memoryOf(pid), cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND }
}

import { readFileSync } from 'node:fs'

const TICKS_PER_SECOND = 100
const MIB = 1024

/** What a process has cost so far. */
export interface Cost {
  /** Resident memory, and the part of it that no file backs, in MiB. */
  readonly rss: number
  readonly anonymous: number
  /** The most that was ever resident. */
  readonly peak: number
  readonly cpuSeconds: number
}

/** Reads the kernel's figures of a running process. */
export function costOf(pid: number): Cost {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN)
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  return { rss: kib('VmRSS') / MIB, anonymous: kib('RssAnon') / MIB, peak: kib('VmHWM') / MIB, cpuSeconds }
}

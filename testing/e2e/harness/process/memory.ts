import { readFileSync } from 'node:fs'

/** Memory of a process, in MiB. */
export interface Memory {
  /** The memory in RAM. `anonymous` is the part of it that no file backs. */
  readonly rss: number
  readonly anonymous: number
  /** The most that was ever in RAM. */
  readonly peak: number
}

/** Reads the memory of a process. The figures are NaN if the process has ended but still exists as a zombie. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mebibytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { rss: mebibytes('VmRSS'), anonymous: mebibytes('RssAnon'), peak: mebibytes('VmHWM') }
}

export function residentMiB(pid: number): number {
  return memoryOf(pid).rss
}

export function anonymousMiB(pid: number): number {
  return memoryOf(pid).anonymous
}

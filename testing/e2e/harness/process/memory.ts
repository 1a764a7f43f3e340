import { readFileSync } from 'node:fs'

/** Memory of a process, in MiB. */
export interface Memory {
  /** In RAM, and the part of it that no file backs. */
  readonly rss: number
  readonly anonymous: number
  /** The most that was ever in RAM. */
  readonly peak: number
}

/** Of a process that has ended and is not yet collected the figures are NaN. */
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

import { readFileSync } from 'node:fs'

/** Memory of a process in RAM, in MiB. */
export function residentMiB(pid: number): number {
  return mebibytes(pid, 'VmRSS')
}

/** The part of it that is not backed by files. */
export function anonymousMiB(pid: number): number {
  return mebibytes(pid, 'RssAnon')
}

function mebibytes(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
}

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The memory of a process, in MiB. */
export interface Memory {
  /** The resident memory. `anonymous` is the part that is not mapped from files. */
  readonly rss: number
  readonly anonymous: number
  /** The largest resident memory so far. */
  readonly peak: number
}

/** Reads the memory of a process. The figures are NaN if the process has ended but still exists as a zombie. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mebibytes = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024
  return { rss: mebibytes('VmRSS'), anonymous: mebibytes('RssAnon'), peak: mebibytes('VmHWM') }
}

const ROOT = '/sys/fs/cgroup'
const MIB = 1024 * 1024

/** The paths of the control files in the two versions of Linux control groups (cgroups). */
const VERSIONS = [
  { root: ROOT, marker: 'cgroup.controllers', limit: 'memory.max', peak: 'memory.peak' },
  {
    root: join(ROOT, 'memory'),
    marker: 'memory.limit_in_bytes',
    limit: 'memory.limit_in_bytes',
    peak: 'memory.max_usage_in_bytes',
  },
]

/** A memory limit for one program, like the memory limit of a container. */
interface MemoryLimit {
  /** The path of a script that joins the control group and then runs the program. */
  readonly binary: string
  peakMib(): number
  /** Removes the limit. Its processes must have ended. */
  remove(): void
}

/** Creates a memory limit. Returns undefined if the user cannot create a control group. */
export function memoryLimit(
  mib: number,
  { name, program, folder }: { name: string; program: string; folder: string },
): MemoryLimit | undefined {
  const version = VERSIONS.find(({ root, marker }) => existsSync(join(root, marker)))
  if (version === undefined) return undefined
  const group = join(version.root, name)
  try {
    mkdirSync(group, { recursive: true }) // it exists if an earlier program did not end in time
    writeFileSync(join(group, version.limit), String(mib * MIB))
  } catch {
    return undefined
  }
  const binary = join(folder, 'limited')
  const script = `#!/bin/sh\necho $$ > '${group}/cgroup.procs'\nexec '${program}' "$@"\n`
  writeFileSync(binary, script, { mode: 0o755 })
  return {
    binary,
    peakMib: () => Number(readFileSync(join(group, version.peak), 'utf8')) / MIB,
    remove: () => rmdirSync(group),
  }
}

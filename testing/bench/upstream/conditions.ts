import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem } from 'node:os'
import type { App } from '../../e2e/harness/subject.ts'
import type { Side } from './side.ts'

/** The conditions that influence the figures and that a reader cannot know otherwise. */
export interface Conditions {
  readonly machine: string
  readonly versions: string
}

/** When a scene begins or ends, and how busy the machine is then. */
export interface Moment {
  readonly date: string
  readonly load: string
}

export function moment(): Moment {
  return { date: new Date().toISOString().slice(0, 16).replace('T', ' '), load: load() }
}

export function conditionsOf(
  binaries: string,
  executables: Readonly<Record<Side, Readonly<Record<App, string>>>>,
): Conditions {
  const [cpu] = cpus()
  const gib = (totalmem() / 1024 ** 3).toFixed(0)
  const { ours, original } = executables
  const says = (file: string): string =>
    execFileSync(file, ['--version'], { encoding: 'utf8' }).split('\n')[0]?.trim().split(' ').at(-1) ?? ''
  return {
    machine: `${cpus().length} x ${cpu?.model ?? 'unknown'}, ${gib} GiB, Linux ${release()}`,
    versions: [
      `ours ${says(ours.attacher)} and ${says(ours.resizer)} on Node ${process.version}`,
      `originals ${says(original.attacher)} and ${says(original.resizer)}`,
      `kube-apiserver ${says(`${binaries}/kube-apiserver`)}`,
      `etcd ${says(`${binaries}/etcd`)}`,
    ].join('; '),
  }
}

/** Runnable processes in the last 1, 5 and 15 minutes. */
function load(): string {
  return loadavg()
    .map((figure) => figure.toFixed(2))
    .join(' ')
}

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import type { TestedApp } from '../../e2e/harness/subject.ts'
import { markdown, type Row, type Side } from './figures.ts'
import type { BenchScene } from './ground.ts'

/** The machine and the versions of all executables, for the reader of the results. */
interface Conditions {
  readonly machine: string
  readonly versions: string
}

/** The date and the load of the machine when a benchmark begins or ends. */
interface Moment {
  readonly date: string
  readonly load: string
}

/**
 * The results of one benchmark, which took `seconds` in all. `failure` is the first line of its error, if it has
 * failed.
 */
export interface SceneOutcome {
  readonly scene: BenchScene
  readonly rows: readonly Row[]
  readonly seconds: number
  readonly failure: string | undefined
}

export function moment(): Moment {
  return { date: new Date().toISOString().slice(0, 16).replace('T', ' '), load: load() }
}

export function conditionsOf(
  binaries: string,
  executables: Readonly<Record<Side, Readonly<Record<TestedApp, string>>>>,
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
      `Go sidecars ${says(original.attacher)} and ${says(original.resizer)}`,
      `kube-apiserver ${says(`${binaries}/kube-apiserver`)}`,
      `etcd ${says(`${binaries}/etcd`)}`,
    ].join('; '),
  }
}

/** Returns the load averages of the last 1, 5 and 15 minutes. */
function load(): string {
  return loadavg()
    .map((figure) => figure.toFixed(2))
    .join(' ')
}

/** The heading in RESULTS.md that begins the text written by hand. The benchmarks keep this text. */
const KEPT = '## Where the time and the memory go'
const SECTION = /^(?=### )/m

/** Formats the results of one benchmark as a Markdown section. */
export function section({ scene, rows, failure }: SceneOutcome, measured: string): string {
  const paragraphs = [`### ${scene.title}`, scene.conditions, measured]
  if (rows.length > 0) paragraphs.push(markdown(rows))
  if (failure !== undefined) paragraphs.push(`**Failed: ${failure.replaceAll('\n', ' ')}**`)
  return paragraphs.join('\n\n')
}

/** Returns the line that says when and on which machine a benchmark ran. */
export function measuredText({ machine, versions }: Conditions, begun: Moment, rounds: number): string {
  return `Measured on ${begun.date} UTC, ${rounds} rounds, ${machine}; load ${begun.load} before and ${moment().load} after; ${versions}.`
}

const HEAD = `# Ours beside the Go sidecars

Written by \`npm run bench --\`; by hand only from "${KEPT.slice(3)}" on.

On a real kube-apiserver with etcd, all on one machine together with the driver and the program that measures, ours and
the Go sidecars in turn, round by round. A figure is the median of the rounds with their least and most in parentheses,
or of one round where there is nothing in parentheses. The ratio is that of each round's two figures; below 1 ours needs
less. Executables are copied before they are measured. CPU is user and system time of the process; memory is resident,
and anonymous is the part of it that no file backs. Each section says when it was measured.

| condition | |
|---|---|
| API server and etcd | a fresh pair for each scene; RBAC, a token file, an audit log of metadata; etcd without fsync |
| flags of both | \`--leader-election --http-endpoint=127.0.0.1:PORT\`, and what a scene says |
| environment of ours | \`MALLOC_ARENA_MAX=1\`, as in the image |
`

/** Replaces the section of one benchmark in the results file. Keeps all other sections and the text written by hand. */
export function writeSection(file: string, text: string, scenes: readonly BenchScene[]): void {
  const old = readFileSync(file, 'utf8')
  const hand = old.indexOf(KEPT)
  const oldSections = old.slice(0, hand).split(SECTION)
  const sections = scenes.flatMap(({ title }) => {
    const heading = `### ${title}\n`
    return [text, ...oldSections].find((each) => each.startsWith(heading)) ?? []
  })
  writeFileSync(file, `${[HEAD, ...sections].map((each) => each.trim()).join('\n\n')}\n\n${old.slice(hand)}`)
}

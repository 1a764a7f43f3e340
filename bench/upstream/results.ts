import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Conditions, load } from './conditions.ts'
import { markdown, type Row } from './figures.ts'
import type { BenchScene } from './scene.ts'

export interface Outcome {
  readonly scene: BenchScene
  readonly rows: readonly Row[]
  readonly seconds: number
  readonly failure: string | undefined
}

/** Text below this line is written by hand; the program keeps it. */
const KEPT = '## Where the time and the memory go'

/** The results of one scene, as Markdown. */
export function section({ scene, rows, failure }: Outcome): string {
  const parts = [`### ${scene.title}`, scene.conditions]
  if (rows.length > 0) parts.push(markdown(rows))
  if (failure !== undefined) parts.push(`**Failed: ${failure.replaceAll('\n', ' ')}**`)
  return parts.join('\n\n')
}

export function report(outcomes: readonly Outcome[], conditions: Conditions, rounds: number): string {
  const minutes = outcomes.reduce((sum, { seconds }) => sum + seconds, 0) / 60
  return `# Ours beside the Go originals

Written by \`npm run bench -- --against upstream\`; by hand only from "${KEPT.slice(3)}" on.

On a real kube-apiserver with etcd, all on one machine together with the driver and the program that measures, ours and
the originals in turn, round by round. A figure is the median of ${rounds} rounds with their least and most in
parentheses, or of one round where there is nothing in parentheses. The ratio is that of each round's two figures; below
1 ours needs less. Executables are copied before they are measured. CPU is user and system time of the process; memory
is resident, and anonymous is the part of it that no file backs.

| condition | |
|---|---|
| when, UTC | ${conditions.date}, for ${minutes.toFixed(0)} minutes |
| machine | ${conditions.machine} |
| versions | ${conditions.versions} |
| load before and after | ${conditions.loadBefore}; ${load()} |
| API server and etcd | a fresh pair for each scene; RBAC, a token file, an audit log of metadata; etcd without fsync |
| flags of both | \`--leader-election --http-endpoint=127.0.0.1:PORT\`, and what a scene says |
| environment of ours | \`MALLOC_ARENA_MAX=1\`, as in the image |

${outcomes.map(section).join('\n\n')}
`
}

/** Replaces the program's part of the file. */
export function writeResults(file: string, text: string): void {
  const old = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const kept = old.includes(KEPT) ? old.slice(old.indexOf(KEPT)) : `${KEPT}\n\nNot looked at yet.\n`
  writeFileSync(file, `${text}\n${kept}`)
}

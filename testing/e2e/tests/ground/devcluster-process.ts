import { ok } from 'node:assert'
import type { ChildProcess } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join, resolve } from 'node:path'
import { SIDECARS } from '../../../../apps/devcluster/src/cluster/binaries.ts'
import { type Exit, exitOf, start, textOf } from '../../harness/process/processes.ts'
import type { App } from '../../harness/subject.ts'

const APPS_FOLDER = resolve(import.meta.dirname, '../../../../apps')

/** The program of the embedded cluster, and its output so far. */
export interface Started {
  readonly child: ChildProcess
  readonly text: () => string
}

/** Starts a program and keeps its output, also in a file of the folder. */
export function startWithOutput(
  folder: string,
  command: string,
  { args, env = process.env }: { readonly args: readonly string[]; readonly env?: NodeJS.ProcessEnv },
): Started {
  const child = start(command, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd: folder, env })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.pipe(createWriteStream(join(folder, 'devcluster.txt'), { flags: 'a' }))
  }
  return { child, text: textOf(child.stdout, child.stderr) }
}

/** Runs the embedded cluster or the driver test to its end, without a terminal. */
export async function runProgram(
  program: 'devcluster' | 'driver-test',
  folder: string,
  args: readonly string[],
): Promise<Exit & { readonly output: string }> {
  const { child, text } = startWithOutput(folder, process.execPath, {
    args: ['--disable-warning=ExperimentalWarning', join(APPS_FOLDER, program, 'dist', 'main.mjs'), ...args],
  })
  const exit = await exitOf(child)
  return { ...exit, output: text() }
}

/** Plays the embedded cluster's demo to its end; fails with its output. */
export async function play(folder: string, args: readonly string[]): Promise<string> {
  const { code, output } = await runProgram('devcluster', folder, ['--exit', ...args])
  ok(code === 0, `it ended with ${code}:\n${output.slice(-3000)}`)
  return output
}

export function sidecarArgs(executables: Readonly<Record<App, string>>): string[] {
  return SIDECARS.map((app) => `--${app}=${executables[app]}`)
}

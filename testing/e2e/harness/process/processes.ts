import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { killGroup } from '../../../../desk/devcluster/src/cluster/process-group.ts'

/**
 * At the end of a run, all its processes end and its folders are removed, also after a failed test or Ctrl-C. If the
 * runner is killed, a small shell does this when its pipe from the runner closes.
 */

const running = new Set<ChildProcess>()
const folders = new Set<string>()

const REAPER = `
pids= ; dirs=
while read -r what arg; do
  case $what in
    +) pids="$pids $arg " ;;
    -) pids=$(printf %s "$pids" | sed "s/ $arg / /") ;;
    d) dirs="$dirs $arg" ;;
  esac
done
for p in $pids; do kill -KILL "-$p" 2>/dev/null; done
sleep 0.2
[ -z "$dirs" ] || rm -rf $dirs
`

const reaper = spawn('sh', ['-c', REAPER], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
reaper.unref()
reaper.stdin.on('error', () => undefined) // without the shell, the exit handlers still clean up
if ('unref' in reaper.stdin && typeof reaper.stdin.unref === 'function') reaper.stdin.unref()

process.on('exit', stopEverything)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    stopEverything()
    process.kill(process.pid, signal)
  })
}

/** The end of a process: its exit code, or the signal that killed it. The other field is null. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Starts a process in a new process group, so that `stop` also ends its child processes. */
export function start(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true })
  const { pid } = child
  running.add(child)
  if (pid !== undefined) reaper.stdin.write(`+ ${pid}\n`)
  child.once('exit', () => {
    running.delete(child)
    if (pid !== undefined) reaper.stdin.write(`- ${pid}\n`)
  })
  return child
}

export function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve, reject) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve({ code: child.exitCode, signal: child.signalCode })
      return
    }
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
}

/** Waits until the process has ended and all its output is read. */
export async function endOf(child: ChildProcess): Promise<Exit> {
  const [exit] = await Promise.all([exitOf(child), once(child, 'close')])
  return exit
}

/** Collects the output of these streams. The returned function returns all output so far. */
export function textOf(...streams: readonly (Readable | null)[]): () => string {
  let text = ''
  for (const stream of streams) {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  }
  return () => text
}

/** Runs a program to its end. `output` is its standard output and standard error together. */
export async function runToEnd(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'> = {},
): Promise<Exit & { readonly stdout: string; readonly stderr: string; readonly output: string }> {
  const child = start(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
  const output = textOf(child.stdout, child.stderr)
  const exit = await endOf(child)
  return { ...exit, stdout: stdout(), stderr: stderr(), output: output() }
}

/** Kills the process and its process group, and waits for the end of the process. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  const gone = exitOf(child)
  killGroup(child)
  await gone
}

/** Creates a folder that is removed at the end of the run. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${prefix}-`))
  folders.add(folder)
  reaper.stdin.write(`d ${folder}\n`)
  return folder
}

function stopEverything(): void {
  for (const child of running) killGroup(child)
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { helmPath } from '../../../charts/tests/helm.ts'
import { cacheFolder } from '../../e2e/harness/programs/binaries.ts'
import { FOLDERS, programsOf, ROOT } from './folders.ts'
import type { NodeRecord } from './record.ts'

const MIB = 1024 * 1024

/** A shell enters the cgroups before the namespaces, which hide the cgroups. */
const ENTER = `
  while [ "$1" != -- ]; do
    echo $$ > "$1/cgroup.procs"
    shift
  done
  shift
  exec nsenter "$@"`

/** The standard input and the time limit of a command on the node. */
export interface InsideOptions {
  /** Default: empty. */
  readonly input?: string
  /** Default: ten minutes. */
  readonly timeoutMs?: number
}

/** Runs a command in the namespaces and cgroups of the node. Returns its output. Throws if it fails. */
export function inside(node: NodeRecord, command: readonly string[], options: InsideOptions = {}): string {
  const { status, stdout, stderr } = tryInside(node, command, options)
  if (status === 0) return stdout
  throw new Error(`${command.slice(0, 6).join(' ')} ended with ${status}: ${`${stderr}${stdout}`.trim().slice(-2000)}`)
}

export function tryInside(
  node: NodeRecord,
  command: readonly string[],
  { input = '', timeoutMs = 10 * 60_000 }: InsideOptions = {},
): SpawnSyncReturns<string> {
  return spawnSync('sh', entering(node, command), {
    input,
    encoding: 'utf8',
    env: environment(node),
    maxBuffer: 512 * MIB,
    timeout: timeoutMs,
  })
}

/** Runs a command inside with the terminal of this process. Returns its exit code. */
export function runInside(node: NodeRecord, command: readonly string[]): number {
  return spawnSync('sh', entering(node, command), { stdio: 'inherit', env: environment(node) }).status ?? 1
}

/** Runs a command inside that writes to a file, and returns its exit code when it has ended. */
export function logInside(node: NodeRecord, command: readonly string[], file: string): Promise<number> {
  const log = openSync(file, 'w')
  const child = spawn('sh', entering(node, command), { stdio: ['ignore', log, log], env: environment(node) })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      closeSync(log)
      resolve(code ?? 1)
    })
  })
}

function entering(node: NodeRecord, command: readonly string[]): readonly string[] {
  const namespaces = ['--net', '--mount', '--pid', '--cgroup', '--uts', '--ipc']
  const target = ['--target', String(node.pid), ...namespaces, `--wd=${process.cwd()}`]
  return ['-c', ENTER, 'sh', ...node.cgroups, '--', ...target, ...command]
}

function environment({ kubernetes }: NodeRecord): NodeJS.ProcessEnv {
  const helm = helmPath()
  const folders = [
    programsOf(kubernetes),
    FOLDERS.programs,
    cacheFolder(ROOT),
    ...(helm === undefined ? [] : [join(helm, '..')]),
    process.env['PATH'],
  ]
  return { PATH: folders.join(delimiter), HOME: FOLDERS.state, KUBECONFIG: join(FOLDERS.state, 'admin.conf') }
}

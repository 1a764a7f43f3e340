import { type ChildProcess, spawn } from 'node:child_process'
import process from 'node:process'

/** This shell script kills the process group when this process ends, which closes the script's standard input. */
const SHELL = 'read -r _; kill -KILL "-$0"'

/**
 * Kills a process group when this process is killed or crashes. If the machine has no shell, only calls `onLack`.
 * Returns a function that ends the guard. The caller uses it when all processes of the group have ended.
 */
export function guardGroup(pid: number | undefined, onLack: (error: Error) => void): () => void {
  if (pid === undefined) return () => undefined
  const shell = spawn('sh', ['-c', SHELL, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  shell.once('error', onLack)
  shell.unref()
  return () => void shell.kill('SIGKILL')
}

/** Kills the process and all other processes of the group that it leads. Does nothing after the process has ended. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL') // the process group has already ended
  }
}

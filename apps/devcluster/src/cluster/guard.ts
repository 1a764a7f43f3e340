import { spawn } from 'node:child_process'

/** Reads until there is nobody any more who could write, which is when we are gone. */
const SHELL = 'read -r _; kill -KILL "-$0"'

/**
 * Ends a process group when this process has ended without doing so itself: killed, or by a fault. Returns the release,
 * to be called when the group is gone. Where there is no shell there is no such guard, and nothing else is missing.
 */
export function guardGroup(pid: number | undefined, onLack: (error: Error) => void): () => void {
  if (pid === undefined) return () => undefined
  const shell = spawn('sh', ['-c', SHELL, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  shell.once('error', onLack)
  shell.unref()
  return () => void shell.kill('SIGKILL')
}

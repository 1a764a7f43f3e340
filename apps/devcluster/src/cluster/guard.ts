import { spawn } from 'node:child_process'

/** Reads until no writer is left, which is when this process is gone. */
const SHELL = 'read -r _; kill -KILL "-$0"'

export interface Guard {
  /** Ends all processes of the group now. Returns false if the machine has no shell. */
  kill(): boolean
  /** The caller calls it when the group is gone. */
  release(): void
}

/**
 * Ends a process group if this process was killed or crashed. Without a shell there is no guard, and everything else
 * works.
 */
export function guardGroup(pid: number | undefined, onLack: (error: Error) => void): Guard {
  if (pid === undefined) return { kill: () => false, release: () => undefined }
  const shell = spawn('sh', ['-c', SHELL, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  let lacks = false
  shell.once('error', (error) => {
    lacks = true
    onLack(error)
  })
  // A guard that has ended the group no longer reads.
  shell.stdin.on('error', () => undefined)
  shell.unref()
  return {
    kill() {
      if (!lacks) shell.stdin.end()
      return !lacks
    },
    release: () => void shell.kill('SIGKILL'),
  }
}

import { spawn } from 'node:child_process'

/** Reads until no writer is left, which is when this process is gone. */
const SHELL = 'read -r _; kill -KILL "-$0"'

export interface Guard {
  /** Ends all processes of the group now. False where there is no shell. */
  kill(): boolean
  /** To be called when the group is gone. */
  release(): void
}

/**
 * Ends a process group when this process has ended without doing so itself: killed, or by a fault. Where there is no
 * shell there is no such guard, and nothing else is missing.
 */
export function guardGroup(pid: number | undefined, onLack: (error: Error) => void): Guard {
  if (pid === undefined) return { kill: () => false, release: () => undefined }
  const shell = spawn('sh', ['-c', SHELL, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  let lacks = false
  shell.once('error', (error) => {
    lacks = true
    onLack(error)
  })
  // One that has done its work reads no more.
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

import { spawn } from 'node:child_process'

/** This shell script kills the process group when this process ends, which closes the script's standard input. */
const SHELL = 'read -r _; kill -KILL "-$0"'

export interface Guard {
  /** Ends all processes of the group now. Returns false if the machine has no shell. */
  kill(): boolean
  /** Ends the guard without killing the group. The caller uses it when all processes of the group have ended. */
  release(): void
}

/** Kills a process group when this process is killed or crashes. If the machine has no shell, only calls `onLack`. */
export function guardGroup(pid: number | undefined, onLack: (error: Error) => void): Guard {
  if (pid === undefined) return { kill: () => false, release: () => undefined }
  const shell = spawn('sh', ['-c', SHELL, String(pid)], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  let lacks = false
  shell.once('error', (error) => {
    lacks = true
    onLack(error)
  })
  // Writing to a shell that has already ended is no error.
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

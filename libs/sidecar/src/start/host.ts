import { writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type nodeProcess from 'node:process'
import { isSea } from 'node:sea'
import { systemClock } from '@csi-sidecars/base'
import type { StopSignal } from '../serve/serve.ts'
import type { Host } from './app.ts'

const TERMINATION_LOG = '/dev/termination-log'
const SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT']

/** The real process. */
export function processHost(process: typeof nodeProcess): Host {
  return {
    // A single executable is called by its own name, a bundle as an argument of node.
    argv0: (isSea() ? process.argv0 : process.argv[1]) ?? process.argv0,
    args: process.argv.slice(2),
    env: process.env,
    hostName: hostname(),
    memoryLimit: process.constrainedMemory(),
    clock: systemClock,
    stdout: process.stdout,
    stderr: process.stderr,
    onSignal(listener) {
      for (const signal of SIGNALS) process.on(signal, listener)
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener)
      }
    },
    writeTerminationMessage: (message) => writeFile(TERMINATION_LOG, message, { mode: 0o644 }),
  }
}

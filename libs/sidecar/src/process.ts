import { writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type nodeProcess from 'node:process'
import { isSea } from 'node:sea'
import { type Clock, systemClock } from '@csi-sidecars/base'
import type { MissingPermissions } from '@csi-sidecars/kube-client'
import type { Logger, LogStream, Metrics, RunContexts } from '@csi-sidecars/telemetry'
import type { RunTracer } from '@csi-sidecars/telemetry/tracing'
import type { StandardFlags } from './flags/flag-checks.ts'

export type StopSignal = 'SIGTERM' | 'SIGINT'

/** How the process ends: with an exit code, or by the signal as if the process had no handler for it. */
export type ProcessEnding = { readonly code: number } | { readonly bySignal: StopSignal }

/** The process in which a program runs. Tests replace it. */
export interface Host {
  /** The name under which the program was called, for the usage and --version. */
  readonly argv0: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly hostName: string
  /** The memory limit of the control groups in bytes. Absent if it is unknown. */
  readonly memoryLimit?: number
  readonly clock: Clock
  readonly stdout: { write(text: string): unknown }
  readonly stderr: LogStream
  /** Calls back for each SIGTERM and SIGINT until the returned function is called. */
  onSignal(listener: (signal: StopSignal) => void): () => void
  /** Calls back for each error that no code catches, such as an unhandled rejection, until the function is called. */
  onUncaughtError(listener: (error: unknown) => void): () => void
  /** Writes the termination message for the kubelet. Rejects if the file cannot be written. */
  writeTerminationMessage(message: string): Promise<void>
}

/** Everything that the steps of the start share, once the flags are read and the log is open. */
export interface StartContext {
  readonly name: string
  readonly version: string
  readonly host: Host
  /** The standard flags that apply to the whole process. */
  readonly standard: StandardFlags
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Finds the ID of the current run. Undefined without such IDs. */
  readonly runs?: RunContexts | undefined
  /** The tracer of runs. Undefined if tracing is off or not open yet. */
  readonly tracer?: RunTracer | undefined
  /** The missing permissions of all clients. Undefined before the first client is created. */
  readonly missing?: MissingPermissions | undefined
  /** Aborted if a signal ends the process during its start. */
  readonly signal: AbortSignal
  /** Registers a function for the process's end, even after a failed start; last first. */
  readonly atEnd: (close: () => void) => void
}

const TERMINATION_LOG = '/dev/termination-log'
const SIGNALS: readonly StopSignal[] = ['SIGTERM', 'SIGINT']

export function processHost(node: typeof nodeProcess): Host {
  return {
    // The name is in `argv0` for a single executable, but in the first argument of node for a bundle.
    argv0: (isSea() ? node.argv0 : node.argv[1]) ?? node.argv0,
    args: node.argv.slice(2),
    env: node.env,
    hostName: hostname(),
    memoryLimit: node.constrainedMemory(),
    clock: systemClock,
    stdout: node.stdout,
    stderr: node.stderr,
    onSignal(listener) {
      for (const signal of SIGNALS) node.on(signal, listener)
      return () => {
        for (const signal of SIGNALS) node.off(signal, listener)
      }
    },
    onUncaughtError(listener) {
      node.on('uncaughtException', listener)
      return () => node.off('uncaughtException', listener)
    },
    writeTerminationMessage: (message) => writeFile(TERMINATION_LOG, message, { mode: 0o644 }),
  }
}

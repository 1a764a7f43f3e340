import { messageOf } from '@csi-sidecars/base'
import { type Pairs, UNQUOTED } from '@csi-sidecars/telemetry'

/** A failure that the Go sidecar logs as one sentence with the cause, and without key-value pairs. */
export interface SentenceFailure {
  readonly sentence: (causeText: string, pairs: Pairs) => string
  /** The exit code of the process. Default: 1. */
  readonly exitCode?: number
}

/** The error of a failed step of the start. The process logs it in one line and ends. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly pairs: Pairs
  /** The exit code. Default: 1. With 255 the log line is fatal. */
  readonly exitCode: number

  constructor(message: string, options: { cause?: unknown; pairs?: Pairs; exitCode?: number } = {}) {
    super(message, { cause: options.cause })
    this.pairs = options.pairs ?? {}
    this.exitCode = options.exitCode ?? 1
  }

  /** Returns a copy of the error with another message, or with more key-value pairs before its own pairs. */
  with({ message = this.message, pairs = {} }: { message?: string; pairs?: Pairs }): StartError {
    const { cause, exitCode } = this
    const merged = Object.keys(pairs).length === 0 ? this.pairs : { ...pairs, ...this.pairs }
    return new StartError(message, { cause, exitCode, pairs: merged })
  }
}

/** The exit code with which the Go sidecars end after a fatal log line. */
export const FATAL = 255

/** Formats a failure at the start as a sentence that ends with the cause. */
export function sentence(text: string, exitCode = 1): SentenceFailure {
  return { sentence: (causeText) => `${text}: ${causeText}`, exitCode }
}

/** The sentence about an HTTP server that cannot be opened, in the Go sidecars that end their start with sentences. */
export const ENDPOINT_FAILED: SentenceFailure = {
  sentence: (causeText, { address, metricsPath }) =>
    `Failed to start HTTP server at specified address ("${address}") and metrics path ("${metricsPath}"): ${causeText}`,
  exitCode: FATAL,
}

/**
 * Returns a handler that throws the error of a failed step, with the given pairs and then the pairs of the cause:
 * `await connect(...).catch(failing('Failed to connect to the CSI driver'))`.
 */
export function failing(message: string | SentenceFailure, pairs: Pairs = {}): (cause: unknown) => never {
  return (cause) => {
    throw stepError(message, cause, pairs)
  }
}

export function stepError(message: string | SentenceFailure, cause: unknown, pairs: Pairs): StartError {
  if (typeof message === 'string') return new StartError(message, { cause, pairs: { ...pairs, ...pairsOf(cause) } })
  const { sentence, exitCode = 1 } = message
  return new StartError(sentence(messageOf(cause), pairs), { exitCode, pairs: UNQUOTED })
}

/** The key-value pairs of the first error in the cause chain that has some. */
function pairsOf(error: unknown): Pairs {
  if (!(error instanceof Error)) return {}
  return 'pairs' in error && typeof error.pairs === 'object' ? { ...error.pairs } : pairsOf(error.cause)
}

/** Thrown if the command line requests a text instead of a start. The text is printed to standard output. */
export class PrintAndExit extends Error {
  override readonly name = 'PrintAndExit'
}

import { messageOf } from '@csi-sidecars/base'
import type { Pairs } from '@csi-sidecars/telemetry'

/** A failed step of the start: it becomes one log line, and the process ends. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly pairs: Pairs
  /** Default: 1. With 255 the line is fatal. */
  readonly exitCode: number

  constructor(message: string, options: { cause?: unknown; pairs?: Pairs; exitCode?: number } = {}) {
    super(message, { cause: options.cause })
    this.pairs = options.pairs ?? {}
    this.exitCode = options.exitCode ?? 1
  }

  /** The same error with another message or with pairs before its own. */
  with({ message = this.message, pairs = {} }: { message?: string; pairs?: Pairs }): StartError {
    const { cause, exitCode } = this
    return new StartError(message, { cause, exitCode, pairs: { ...pairs, ...this.pairs } })
  }
}

/** The line of a Go original that logs sentences without pairs: the cause is a part of the sentence. */
export interface SentenceFailure {
  readonly sentence: (cause: string, pairs: Pairs) => string
  /** Default: 1. */
  readonly exitCode?: number
}

/**
 * Names the step that failed: `await connect(...).catch(failing('Failed to connect to the CSI driver'))`. The pairs of the
 * cause follow the given pairs.
 */
export function failing(message: string | SentenceFailure, pairs: Pairs = {}): (cause: unknown) => never {
  return (cause) => {
    throw stepError(message, cause, pairs)
  }
}

/** The error of a failed step. */
export function stepError(message: string | SentenceFailure, cause: unknown, pairs: Pairs): StartError {
  if (typeof message === 'string') return new StartError(message, { cause, pairs: { ...pairs, ...pairsOf(cause) } })
  const { sentence, exitCode = 1 } = message
  return new StartError(sentence(messageOf(cause), pairs), { exitCode })
}

/** The key-value pairs of the first error in the cause chain that has some. */
function pairsOf(error: unknown): Pairs {
  if (!(error instanceof Error)) return {}
  return 'pairs' in error && typeof error.pairs === 'object' ? { ...error.pairs } : pairsOf(error.cause)
}

/** The command line asks for a text instead of a start. The text goes to standard output. */
export class PrintAndExit extends Error {
  override readonly name = 'PrintAndExit'
}

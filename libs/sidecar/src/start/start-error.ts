import { messageOf } from '@csi-sidecars/base'
import type { Pairs } from '@csi-sidecars/telemetry'

/** A step of the start has failed: one log line, then the process ends. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly pairs: Pairs
  readonly exitCode: number

  constructor(message: string, options: { cause?: unknown; pairs?: Pairs; exitCode?: number } = {}) {
    super(message, { cause: options.cause })
    this.pairs = options.pairs ?? {}
    this.exitCode = options.exitCode ?? 1
  }
}

/** The line of a Go original that logs sentences without pairs: the cause is a part of the sentence. */
export interface SentenceFailure {
  readonly sentence: (cause: string, pairs: Pairs) => string
  /** Left out: 1. */
  readonly exitCode?: number
}

/**
 * Names the step that failed: `await connect(...).catch(failing('Failed to connect to the CSI driver'))`. Pairs of the
 * cause follow the given pairs.
 */
export function failing(message: string | SentenceFailure, pairs: Pairs = {}): (cause: unknown) => never {
  return (cause) => {
    if (typeof message !== 'string') {
      const { sentence, exitCode = 1 } = message
      throw new StartError(sentence(messageOf(cause), pairs), { exitCode })
    }
    throw new StartError(message, { cause, pairs: { ...pairs, ...pairsOf(cause) } })
  }
}

/** Of the error or, where it has none, of what caused it. */
function pairsOf(error: unknown): Pairs {
  if (!(error instanceof Error)) return {}
  return 'pairs' in error && typeof error.pairs === 'object' ? { ...error.pairs } : pairsOf(error.cause)
}

/** The command line asks for a text instead of a start: it goes to standard output. */
export class PrintAndExit extends Error {
  override readonly name = 'PrintAndExit'
}

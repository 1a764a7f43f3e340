import { goQuote } from '@csi-sidecars/telemetry'
import type { Flags } from './go-flags.ts'
import { goDuration } from './go-values.ts'
import type { STANDARD_FLAGS } from './standard-flags.ts'

export type StandardFlags = Flags<typeof STANDARD_FLAGS>
export type StandardValues = StandardFlags['values']

/**
 * Checks of flag values after parsing. Each returns the text that goes into `err` of the line that ends the start, or
 * undefined. The order of the checks is the app's.
 */

/** For the line `LoggingConfiguration is invalid`. */
export function loggingError(values: StandardValues): string | undefined {
  const flush = values['log-flush-frequency']
  const format = values['logging-format']
  const alphaOptions = {
    'text.splitStream': values['log-text-split-stream'],
    'text.infoBufferSize': !values['log-text-info-buffer-size'].isZero(),
    'json.splitStream': values['log-json-split-stream'],
    'json.infoBufferSize': !values['log-json-info-buffer-size'].isZero(),
  }
  const errors: string[] = []
  if (flush <= 0) {
    errors.push(`flushFrequency: Invalid value: ${goQuote(goDuration(flush))}: Must be greater than zero`)
  }
  if (format !== 'text' && format !== 'json') {
    errors.push(`format: Invalid value: ${goQuote(format)}: Unsupported log format`)
  }
  if (values.vmodule.length > 0 && format !== 'text' && format !== '') {
    errors.push('vmodule: Forbidden: Only supported for text log format')
  }
  for (const [option, used] of Object.entries(alphaOptions)) {
    if (used) errors.push(`options.${option}: Forbidden: Feature LoggingAlphaOptions is disabled`)
  }
  return aggregate(errors)
}

/** For the line that says it itself; the resizer ends it with a full stop. */
export function bothAddresses(values: StandardValues): boolean {
  return values['metrics-address'] !== '' && values['http-endpoint'] !== ''
}

/** An info line for a flag that asks for what cannot be had; once, at the start. */
export function automaxprocsNotice(values: StandardValues): string | undefined {
  return values.automaxprocs ? 'Flag --automaxprocs has no effect: this program uses one CPU' : undefined
}

/** Jitter stretches a retry period by up to this much. */
const JITTER_FACTOR = 1.2

/** Exit code 2. Only with leader election. */
export function leaseTimingError(values: StandardValues): string | undefined {
  const lease = values['leader-election-lease-duration']
  const renew = values['leader-election-renew-deadline']
  const retry = values['leader-election-retry-period']
  if (lease <= renew) return 'leaseDuration must be greater than renewDeadline'
  if (renew <= JITTER_FACTOR * retry) return 'renewDeadline must be greater than retryPeriod*JitterFactor'
  if (retry <= 0) return 'retryPeriod must be greater than zero'
  return undefined
}

/** Several errors in one text, as the Kubernetes libraries join them; a repeated text is listed once. */
export function aggregate(errors: readonly string[]): string | undefined {
  const distinct = [...new Set(errors)]
  return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct[0]
}

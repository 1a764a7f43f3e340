import { goQuote } from '@csi-sidecars/telemetry'
import type { Flags } from './go-flags.ts'
import { goDuration } from './go-values.ts'
import type { STANDARD_FLAGS } from './standard-flags.ts'

export type StandardFlags = Flags<typeof STANDARD_FLAGS>
export type StandardValues = StandardFlags['values']

/**
 * Each function checks flag values after parsing. It returns the `err` of the log line that ends the start, or
 * undefined if the values are valid. Each app chooses the order of the checks.
 */

/** Returns the `err` of the log line `LoggingConfiguration is invalid`, or undefined if the flags are valid. */
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
  for (const [option, isSet] of Object.entries(alphaOptions)) {
    if (isSet) errors.push(`options.${option}: Forbidden: Feature LoggingAlphaOptions is disabled`)
  }
  return aggregate(errors)
}

/** Reports whether both --metrics-address and --http-endpoint are given, which is an error. */
export function setsBothAddresses(values: StandardValues): boolean {
  return values['metrics-address'] !== '' && values['http-endpoint'] !== ''
}

/** Returns the info line if --automaxprocs is given, which has no effect. It is logged once, at the start. */
export function automaxprocsNotice(values: StandardValues): string | undefined {
  return values.automaxprocs ? 'Flag --automaxprocs has no effect: this program uses one CPU' : undefined
}

/** The largest factor by which jitter extends a retry period. */
const JITTER_FACTOR = 1.2

/** Returns why the lease timings are impossible, which ends the start with code 2. Called only with leader election. */
export function leaseTimingError(values: StandardValues): string | undefined {
  const lease = values['leader-election-lease-duration']
  const renew = values['leader-election-renew-deadline']
  const retry = values['leader-election-retry-period']
  if (lease <= renew) return 'leaseDuration must be greater than renewDeadline'
  if (renew <= JITTER_FACTOR * retry) return 'renewDeadline must be greater than retryPeriod*JitterFactor'
  if (retry <= 0) return 'retryPeriod must be greater than zero'
  return undefined
}

/** Joins errors as the Kubernetes libraries do. A repeated text is listed once. */
export function aggregate(errors: readonly string[]): string | undefined {
  const distinct = [...new Set(errors)]
  return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct[0]
}

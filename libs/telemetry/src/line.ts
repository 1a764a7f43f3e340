import type { Clock } from '@csi-sidecars/base'
import type { CallSite } from './caller.ts'

/** The key-value pairs of a line. Keys have no blanks. They are printed in insertion order. */
export type Pairs = Readonly<Record<string, unknown>>

/** The parts of a log line, without its time and level. */
export interface LogLine {
  readonly caller: CallSite
  readonly message: string
  readonly context: Pairs
  readonly pairs: Pairs | undefined
  /** The ID of the run. It is printed last, so that the start of the line is the same as in the Go sidecars. */
  readonly traceId: string | undefined
}

/** A format of log lines. */
export interface Format {
  info(level: number, line: LogLine): string
  warning(line: LogLine): string
  error(error: unknown, line: LogLine): string
  /** Formats the bare message without pairs, like klog's unstructured Fatal. */
  fatal(line: LogLine): string
}

/**
 * Pass this value in place of pairs if the text format must not quote the message. It is for lines that a Go sidecar
 * logs with klog's unstructured functions: quoting would put a backslash before each quote in them.
 */
export const UNQUOTED: Pairs = {}

/**
 * Merges the pairs: the pairs of `first` come before the pairs of `second`. If both have a key, the value in `second`
 * wins. The key moves to the end, unless both values are equal.
 */
export function mergePairs(first: Pairs, second: Pairs | undefined): Pairs {
  if (second === undefined) return first
  const merged: Record<string, unknown> = { ...first }
  for (const key of Object.keys(second)) {
    const value = second[key]
    if (Object.hasOwn(merged, key) && merged[key] !== value) delete merged[key]
    merged[key] = value
  }
  return merged
}

/** The largest fraction of a millisecond that has whole microseconds. */
const MAX_FRACTION = 0.999

/**
 * Returns the wall time in milliseconds, with microseconds as decimals. The decimals come from the monotonic time, so
 * that log lines of one millisecond keep their order. The whole milliseconds are always those of the wall clock.
 *
 * Caveats: a clock without `startedAt` does not know the microseconds of its start. Its first times are whole
 * milliseconds.
 */
export function preciseTime(clock: Clock): () => number {
  let offset = clock.startedAt ?? clock.now() - clock.monotonic()
  return () => {
    const wholeMs = clock.now()
    const monotonic = clock.monotonic()
    const fraction = monotonic + offset - wholeMs
    if (fraction >= 0 && fraction < 1) return wholeMs + Math.min(Math.round(fraction * 1000) / 1000, MAX_FRACTION)
    const nearest = fraction >= 1 && fraction < 2 ? MAX_FRACTION : 0
    offset = wholeMs + nearest - monotonic
    return wholeMs + nearest
  }
}

/** Names an object in a log line: `"namespace/name"` in text, `{"name":...,"namespace":...}` in JSON. */
export class LoggedRef {
  readonly name: string
  readonly namespace: string | undefined

  constructor(name: string, namespace?: string) {
    this.name = name
    this.namespace = namespace === '' ? undefined : namespace
  }

  toString(): string {
    return this.namespace === undefined ? this.name : `${this.namespace}/${this.name}`
  }
}

/** Returns the reference to log for an object that has a name and perhaps a namespace. */
export function objectRef(object: { readonly name?: string; readonly namespace?: string } | undefined): LoggedRef {
  return new LoggedRef(object?.name ?? '', object?.namespace)
}

import { type Clock, isError, messageOf } from '@csi-sidecars/base'
import { type Format, type LogLine, mergePairs, type Pairs, preciseTime } from './line.ts'

/**
 * Formats each line as a JSON object: `ts`, `caller`, `msg`, context, `v`, pairs of the call. An error line has no `v`
 * and ends with `err`. A line of a run has the trace ID after the pairs. No key appears twice.
 */
export function jsonFormat(clock: Clock): Format {
  const now = preciseTime(clock)
  const start = ({ caller, message }: LogLine): string => {
    const place = `${caller.folder === '' ? '' : `${caller.folder}/`}${caller.file}:${caller.line}`
    return `{"ts":${now().toFixed(3)},"caller":${JSON.stringify(place)},"msg":${JSON.stringify(message)}`
  }
  const info = (level: number, line: LogLine): string => {
    const { pairs = {} } = line
    return `${start(line)}${members(line.context, pairs)},"v":${level}${members(pairs)}${traceMember(line)}}\n`
  }
  return {
    info,
    // The JSON format has no mark for a warning.
    warning: (line) => info(0, line),
    fatal: (line) => `${start(line)},"v":0}\n`,
    error: (error, line) => {
      const last = { err: error ?? null }
      return `${start(line)}${members(mergePairs(line.context, line.pairs), last)}${traceMember(line)}${members(last)}}\n`
    },
  }
}

function traceMember({ traceId }: LogLine): string {
  return traceId === undefined ? '' : `,"traceID":"${traceId}"`
}

/** Returns `,"key":value` for each pair whose key is not in `later`. */
function members(pairs: Pairs, overriding?: Pairs): string {
  let text = ''
  for (const key of Object.keys(pairs)) {
    if (overriding !== undefined && Object.hasOwn(overriding, key)) continue
    text += `,${JSON.stringify(key)}:${jsonValue(pairs[key])}`
  }
  return text
}

/**
 * Returns a value as compact JSON. Never throws: a value that cannot be printed becomes a note. Errors become their
 * message, maps become objects, and a bigint keeps all digits.
 */
export function jsonValue(value: unknown): string {
  try {
    return JSON.stringify(value, plain) ?? 'null'
  } catch (error) {
    return JSON.stringify(`<internal error: ${messageOf(error)}>`)
  }
}

function plain(_key: string, value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return typeof rawJson === 'function' ? rawJson(String(value)) : String(value)
    case 'function':
    case 'symbol':
      return String(value)
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'object':
      if (isError(value)) return messageOf(value)
      if (value instanceof Map) return Object.fromEntries(value)
      if (value instanceof Set) return [...value]
      if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
      return value
    default:
      return value
  }
}

/** TypeScript's library does not declare JSON.rawJSON yet. */
const rawJson: unknown = Reflect.get(JSON, 'rawJSON')

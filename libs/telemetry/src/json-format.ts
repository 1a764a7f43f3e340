import type { Clock } from '@csi-sidecars/base'
import { jsonValue } from './json-value.ts'
import type { Format, LogLine } from './line.ts'
import { mergePairs, type Pairs, preciseTime } from './line.ts'

/**
 * One object a line: ts, caller, msg, context, `v`, pairs of the call. An error line has no `v` and ends with `err`. A
 * line of a run has its id behind the pairs. No key appears twice.
 */
export function jsonFormat(clock: Clock): Format {
  const now = preciseTime(clock)
  const start = ({ caller, message }: LogLine): string => {
    const time = Math.round(now() * 1000) / 1000
    const place = `${caller.folder === '' ? '' : `${caller.folder}/`}${caller.file}:${caller.line}`
    return `{"ts":${time},"caller":${JSON.stringify(place)},"msg":${JSON.stringify(message)}`
  }
  const info = (level: number, line: LogLine): string => {
    const { pairs = {} } = line
    return `${start(line)}${members(line.context, pairs)},"v":${level}${members(pairs)}${traceMember(line)}}\n`
  }
  return {
    info,
    // This format has no letter for it.
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

/** `,"key":value` for each pair, but not for keys that come again in `later`. */
function members(pairs: Pairs, later?: Pairs): string {
  let text = ''
  for (const key of Object.keys(pairs)) {
    if (later !== undefined && Object.hasOwn(later, key)) continue
    text += `,${JSON.stringify(key)}:${jsonValue(pairs[key])}`
  }
  return text
}

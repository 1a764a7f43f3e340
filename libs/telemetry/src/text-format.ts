import { pid } from 'node:process'
import { type Clock, isError, messageOf } from '@csi-sidecars/base'
import type { CallSite } from './caller.ts'
import { goQuote } from './go-text.ts'
import { jsonValue } from './json-format.ts'
import { type Format, LoggedRef, type LogLine, mergePairs, type Pairs, preciseTime, UNQUOTED } from './line.ts'

/** Formats lines as klog does: `I1121 01:09:16.289925   28158 main.go:153] "Message" key="value" count=3`. */
export function textFormat(clock: Clock): Format {
  const header = headerFormat(clock)
  const record = (letter: string, { caller, message, traceId, ...line }: LogLine, pairs: Pairs): string => {
    const end = traceId === undefined ? '' : ` traceID="${traceId}"`
    const quotedMessage = line.pairs === UNQUOTED ? onOneLine(message) : goQuote(message)
    return `${header(letter, caller)}${quotedMessage}${pairsText(pairs)}${end}\n`
  }
  return {
    info: (_level, line) => record('I', line, mergePairs(line.context, line.pairs)),
    warning: (line) => record('W', line, mergePairs(line.context, line.pairs)),
    fatal: ({ caller, message }) => `${header('F', caller)}${message}\n`,
    error: (error, line) => {
      const pairs = mergePairs(line.context, line.pairs)
      return record('E', line, error === undefined ? pairs : mergePairs({ err: error }, pairs))
    },
  }
}

function onOneLine(text: string): string {
  return text.replaceAll('\r', '\\r').replaceAll('\n', '\\n')
}

/** Returns the start of a line: level, local time, process and caller. Formats date and time once a second. */
function headerFormat(clock: Clock): (letter: string, caller: CallSite) => string {
  const now = preciseTime(clock)
  const paddedPid = String(pid).padStart(7)
  let second = Number.NaN
  let prefix = ''
  return (letter, { file, line }) => {
    const time = now()
    const wholeSeconds = Math.floor(time / 1000)
    if (wholeSeconds !== second) {
      second = wholeSeconds
      prefix = dateText(new Date(wholeSeconds * 1000))
    }
    const micros = String(Math.round((time - wholeSeconds * 1000) * 1000)).padStart(6, '0')
    return `${letter}${prefix}.${micros} ${paddedPid} ${file}:${line}] `
  }
}

function dateText(date: Date): string {
  const [month, day, hours, minutes, seconds] = [
    date.getMonth() + 1,
    date.getDate(),
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
  ].map((part) => String(part).padStart(2, '0'))
  return `${month}${day} ${hours}:${minutes}:${seconds}`
}

function pairsText(pairs: Pairs): string {
  let text = ''
  for (const key of Object.keys(pairs)) text += ` ${key}=${valueText(pairs[key])}`
  return text
}

function valueText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return stringText(value)
    case 'object':
      if (isError(value)) return stringText(messageOf(value))
      if (value instanceof LoggedRef) return stringText(value.toString())
      break
    default:
  }
  return jsonValue(value).replace(/[<>&\u2028\u2029]/g, unicodeEscape)
}

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Quotes a text of one line. A text of several lines is printed between `<` and `>`, with a tab before each line. */
function stringText(text: string): string {
  if (!text.includes('\n')) return goQuote(text)
  const body = text.endsWith('\n') ? text.slice(0, -1) : text
  return `<\n\t${body.replaceAll('\n', '\n\t')}\n >`
}

import { ageText } from '../output/age.ts'
import { oneLine } from '../output/explanation.ts'
import type { Search, Thing } from './page.ts'
import type { UnreferencedResult } from './result.ts'

const HEAD = ['DRIVER', 'KIND', 'REASON', 'HANDLE', 'SIZE', 'SEEN', 'OBJECT'] as const

/** The meaning of each reason. */
const MEANINGS: Readonly<Record<string, string>> = {
  NoObject: 'no object of the cluster names it',
  Released: 'its PersistentVolume has been Released for longer than a day',
  NotListed: 'an object names it, and the driver does not list it',
}

/** Returns a table of all things, and a sentence about each search. */
export function unreferencedText({ searches, items, unseen }: UnreferencedResult, now: number): string {
  const reasons = [...new Set(items.map(({ reason }) => reason))]
  const paragraphs = [
    items.length === 0 ? ['Nothing was found.'] : table([[...HEAD], ...items.map((item) => rowOf(item, now))]),
    reasons.flatMap((reason) => (reason in MEANINGS ? [`${reason}: ${MEANINGS[reason]}.`] : [])),
    searches.map((search) => sentenceOf(search, now)),
    unseen.map(({ what, why }) => `Not seen: ${oneLine(what)}: ${oneLine(why)}`),
  ]
  return `${paragraphs
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

function rowOf({ driver, kind, reason, handle, sizeBytes, since, object }: Thing, now: number): string[] {
  const seen = Date.parse(since ?? '')
  const named = object === undefined ? '' : `${object.kind}/${object.name}`
  const age = Number.isNaN(seen) ? '?' : ageText(now - seen)
  return [driver, kind, reason, handle, sizeText(sizeBytes), age, named].map(oneLine)
}

function sentenceOf(
  { driver, kind, scope, listedAt, listed, undecided, undecidedBecause, omitted, failure }: Search,
  now: number,
): string {
  const whose = scope === 'cluster' ? 'of this cluster' : 'of this back end, not of this cluster'
  const at = Date.parse(listedAt ?? '')
  const subject = Number.isNaN(at)
    ? `the ${kind}s ${whose} were not listed yet`
    : `${listed} ${kind}s ${whose} were listed ${ageText(now - at)} ago`
  const doubt = undecided === 0 ? '' : ` ${undecided} are undecided: ${undecidedBecause ?? 'unknown'}.`
  const more = omitted === 0 ? '' : ` ${omitted} more are not shown.`
  const failed = failure === undefined ? '' : ` The last listing failed: ${failure}.`
  return oneLine(`${driver}: ${subject}.${doubt}${more}${failed}`)
}

const UNITS = ['B', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'] as const

/** Returns a size with at most one decimal, such as `1.5Gi`. */
export function sizeText(bytes: number | undefined): string {
  if (bytes === undefined) return '?'
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1024 ** power
  return `${Number.isInteger(value) ? value : value.toFixed(1)}${UNITS[power]}`
}

/** Returns the lines of a table whose columns are as wide as their longest cell. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

import type { CaseAnswer, CaseStep } from './case.ts'
import { DIFFERENCES } from './differences.ts'

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/(generated-)[a-z0-9]{5}\b/gi, '$1<letters>'],
  [/(?<=resource version: |ResourceVersion in record \()\d+( \(\d+\))?/gi, '<versions>'],
]
const AGE = /^(\d+[ydhms]){1,2}$/
const LONGEST_TEXT = 400

/** Removes the parts of an answer that differ from run to run, and the allowed differences. */
export function normalised(answer: CaseAnswer, { only }: Pick<CaseStep, 'only'>): CaseAnswer {
  const body = plain(answer.body, '')
  if (only === undefined) return { ...answer, body }
  return { ...answer, body: Object.fromEntries(only.map((path) => [path, partAt(body, path)])) }
}

function plain(given: unknown, key: string): unknown {
  if (key === 'resourceVersion' && given !== '') return '<version>'
  if (key === 'continue') return '<token>'
  const value = DIFFERENCES.reduce((rest, { hide }) => hide?.(key, rest) ?? rest, given)
  if (typeof value === 'string') return plainText(value, key)
  // Items of a list are checked under the list's name: the cells of a table may be ages.
  if (Array.isArray(value)) return value.map((item) => plain(item, key === 'cells' ? 'cell' : ''))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields.map(([name, inner]) => [name, plain(inner, name)]))
}

function plainText(text: string, key: string): string {
  if (key === 'cell' && AGE.test(text)) return '<age>'
  const known = PATTERNS.reduce((rest, [pattern, name]) => rest.replace(pattern, name), text)
  return known.length > LONGEST_TEXT ? `${known.slice(0, LONGEST_TEXT)}<${known.length} characters>` : known
}

/** Follows a path; `name=x` finds the item of a list with that field, `~` means a dot in a key. */
function partAt(value: unknown, path: string): unknown {
  let here = value
  for (const step of path.split('.').map((each) => each.replaceAll('~', '.'))) {
    if (typeof here !== 'object' || here === null) return undefined
    const [, field, wanted] = /^(\w+)=(.*)$/.exec(step) ?? []
    if (field === undefined || !Array.isArray(here)) here = Reflect.get(here, step)
    else here = here.find((item: unknown) => String(Reflect.get(Object(item), field)) === wanted)
  }
  return here
}

import { readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { CaseAnswer, CaseStep, RecordedAnswer } from './case.ts'

/** The minor version whose answers are recorded completely, and which the emulator copies. */
const BASE_VERSION = '1.36'

/** A recorded answer that differs from the answer of the base version, and its position among all answers. */
interface DifferentAnswer extends RecordedAnswer {
  readonly index: number
}

/** Returns the answers of a kube-apiserver of this minor version to all cases. Default: v1.36.3. */
export function readRecorded(version = BASE_VERSION): readonly RecordedAnswer[] {
  const answers = readLines<RecordedAnswer>(fileOf(BASE_VERSION))
  if (version === BASE_VERSION) return answers
  const different = readLines<DifferentAnswer>(fileOf(version))
  const byIndex = new Map(different.map(({ index, ...answer }) => [index, answer]))
  return answers.map((answer, index) => byIndex.get(index) ?? answer)
}

/** Replaces the recorded answers of this minor version. Only the base version is recorded completely. */
export function writeRecorded(answers: readonly RecordedAnswer[], version = BASE_VERSION): void {
  writeLines(fileOf(version), version === BASE_VERSION ? answers : differentAnswers(answers, readRecorded()))
}

/** Returns the answers that differ from those of the base version. */
export function differentAnswers(
  answers: readonly RecordedAnswer[],
  base: readonly RecordedAnswer[],
): readonly DifferentAnswer[] {
  return answers.flatMap((answer, index) =>
    compare(base.slice(index, index + 1), [answer]).length === 0 ? [] : [{ index, ...answer }],
  )
}

function fileOf(version: string): URL {
  return new URL(version === BASE_VERSION ? 'recorded.jsonl' : `recorded-${version}.jsonl`, import.meta.url)
}

function readLines<T>(file: URL): readonly T[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
}

function writeLines(file: URL, values: readonly unknown[]): void {
  writeFileSync(file, values.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>'],
  [/(generated-)[a-z0-9]{5}\b/gi, '$1<letters>'],
  [/(?<=resource version: |ResourceVersion in record \()\d+( \(\d+\))?/gi, '<versions>'],
]
const AGE = /^(\d+[ydhms]){1,2}$/
const MAX_TEXT_LENGTH = 400

/** Removes the allowed differences from an answer, and values that differ from run to run, such as UIDs. */
export function normalised(answer: CaseAnswer, { only }: Pick<CaseStep, 'only'>): CaseAnswer {
  const body = plain(answer.body, '')
  if (only === undefined) return { ...answer, body }
  return { ...answer, body: Object.fromEntries(only.map((path) => [path, partAt(body, path)])) }
}

function plain(raw: unknown, key: string): unknown {
  if (key === 'resourceVersion' && raw !== '') return '<version>'
  if (key === 'continue') return '<token>'
  const value = DIFFERENCES.reduce((rest, { hide }) => hide?.(key, rest) ?? rest, raw)
  if (typeof value === 'string') return plainText(value, key)
  // Table cells get the key `cell`, because their text may be an age, which changes with each run.
  if (Array.isArray(value)) return value.map((item) => plain(item, key === 'cells' ? 'cell' : ''))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields.map(([name, inner]) => [name, plain(inner, name)]))
}

function plainText(text: string, key: string): string {
  if (key === 'cell' && AGE.test(text)) return '<age>'
  const normalized = PATTERNS.reduce((rest, [pattern, name]) => rest.replace(pattern, name), text)
  return normalized.length > MAX_TEXT_LENGTH
    ? `${normalized.slice(0, MAX_TEXT_LENGTH)}<${normalized.length} characters>`
    : normalized
}

/** Returns the value at a dotted path. `name=x` selects the list item with this field; `~` is a dot in a key. */
function partAt(value: unknown, path: string): unknown {
  let here = value
  for (const step of path.split('.').map((each) => each.replaceAll('~', '.'))) {
    if (typeof here !== 'object' || here === null) return undefined
    const [, field, expectedValue] = /^(\w+)=(.*)$/.exec(step) ?? []
    if (field === undefined || !Array.isArray(here)) here = Reflect.get(here, step)
    else here = here.find((item: unknown) => String(Reflect.get(Object(item), field)) === expectedValue)
  }
  return here
}

/**
 * An allowed difference between the emulator and kube-apiserver v1.36.3, with its reason. `hide` removes the
 * difference from an answer before the comparison. It is absent if no case meets the difference.
 */
interface Difference {
  readonly difference: string
  readonly why: string
  readonly hide?: (key: string, value: unknown) => unknown
}

export const DIFFERENCES: readonly Difference[] = [
  {
    difference: 'objects have no metadata.managedFields, and apply patches are refused',
    why: 'Server-side apply is tested on the real server alone.',
    hide: (_key, value) => withoutField(value, 'managedFields'),
  },
  {
    difference: 'a refusal says that two specs differ, but does not print the difference',
    why: 'The text is a diff of Go structures with their Go field names, for people.',
    hide: (_key, value) => (typeof value === 'string' ? value.replace(/\n(.|\n)*/, '') : value),
  },
  {
    difference: 'structures inside messages are printed with the names of the wire',
    why: 'The real server prints its internal types, whose fields have other names and another order.',
    hide: (_key, value) => (typeof value === 'string' ? value.replace(STRUCTURE, '$1<structure>$2') : value),
  },
  {
    difference: 'details.causes names each problem once',
    why: 'The real server checks metadata up to three times on one write and lists a problem as often.',
    hide: (key, value) => (key === 'causes' && Array.isArray(value) ? unique(value) : value),
  },
  {
    difference: 'the columns of tables are described by their names alone',
    why: 'Texts of the real server for people; kubectl does not show them.',
    hide: (key, value) => (key === 'description' ? '<description>' : value),
  },
  {
    difference:
      'a field of the wrong type is refused without its Go type, and broken JSON with the message of another parser',
    why: 'The names are those of Go types and of a Go parser. Code and reason are the same.',
  },
  {
    difference: 'YAML is not read; answers to writes are JSON also where protobuf is preferred',
    why: 'kubectl sends JSON and reads JSON as well.',
  },
  {
    difference: 'a deleted namespace is emptied and removed',
    why: 'In a cluster the controller manager does it, which does not run beside this server.',
  },
  {
    difference:
      'resources of other groups, and subresources other than status and token, are not served; of workloads only metadata and `spec` are kept',
    why: 'The sidecars and the controllers around them do not use them.',
  },
  {
    difference: 'a watch or list of the future is answered at once, where the real server first waits three seconds',
    why: 'The wait only hides that a cache lags behind its store; there is no such cache here.',
  },
]

const STRUCTURE = /(Invalid value: )"?(?:\{.*?\}|map\[.*?\])"?(: )/g

function withoutField(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !(field in value)) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== field))
}

function unique(values: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>()
  return values.filter((value) => {
    const text = JSON.stringify(value)
    if (seen.has(text)) return false
    seen.add(text)
    return true
  })
}

/** Compares the answers of two runs and returns one text per difference. */
export function compare(expected: readonly RecordedAnswer[], actual: readonly RecordedAnswer[]): readonly string[] {
  const count = Math.max(expected.length, actual.length)
  return Array.from({ length: count }, (_, index) => differenceAt(expected[index], actual[index])).filter(
    (text) => text !== undefined,
  )
}

function differenceAt(expected: RecordedAnswer | undefined, actual: RecordedAnswer | undefined): string | undefined {
  const { title, asked } = expected ?? actual ?? { title: '', asked: '' }
  const differences = differencesIn(asJson(expected), asJson(actual), '')
  return differences.length === 0 ? undefined : [`${title}: ${asked}`, ...differences].join('\n')
}

/** Returns the answer as parsed JSON, without undefined fields. */
function asJson(answer: RecordedAnswer | undefined): unknown {
  return answer === undefined ? undefined : (JSON.parse(JSON.stringify(answer)) as unknown)
}

function differencesIn(expected: unknown, actual: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(expected, actual)) return []
  if (!isMap(expected) || !isMap(actual)) {
    return [`  ${path}`, `    expected ${JSON.stringify(expected)}`, `    actual   ${JSON.stringify(actual)}`]
  }
  const keys = new Set([...Object.keys(expected), ...Object.keys(actual)])
  return [...keys].flatMap((key) =>
    differencesIn(Reflect.get(expected, key), Reflect.get(actual, key), `${path}.${key}`),
  )
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

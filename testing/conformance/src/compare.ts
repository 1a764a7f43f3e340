import { isDeepStrictEqual } from 'node:util'
import type { RecordedAnswer } from './case.ts'

/** The differences of two runs, one text each; none when they agree. */
export function compare(expected: readonly RecordedAnswer[], actual: readonly RecordedAnswer[]): readonly string[] {
  const count = Math.max(expected.length, actual.length)
  return Array.from({ length: count }, (_, index) => differenceAt(expected[index], actual[index])).filter(
    (text) => text !== undefined,
  )
}

function differenceAt(expected: RecordedAnswer | undefined, actual: RecordedAnswer | undefined): string | undefined {
  const { title, asked } = expected ?? actual ?? { title: '', asked: '' }
  const parts = differencesIn(asJson(expected), asJson(actual), '')
  return parts.length === 0 ? undefined : [`${title}: ${asked}`, ...parts].join('\n')
}

/** Returns the answer as JSON keeps it: fields that are undefined are absent. */
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

import { isDeepStrictEqual } from 'node:util'
import type { Told } from './story.ts'

/** Where two tellings of the stories part, one text each; none when they agree. */
export function compare(expected: readonly Told[], actual: readonly Told[]): readonly string[] {
  const count = Math.max(expected.length, actual.length)
  return Array.from({ length: count }, (_, index) => partingAt(expected[index], actual[index])).filter(
    (text) => text !== undefined,
  )
}

function partingAt(expected: Told | undefined, actual: Told | undefined): string | undefined {
  const { story, asked } = expected ?? actual ?? { story: '', asked: '' }
  const parts = partings(asJson(expected), asJson(actual), '')
  return parts.length === 0 ? undefined : [`${story}: ${asked}`, ...parts].join('\n')
}

/** What JSON keeps of it: fields that are undefined are absent. */
function asJson(told: Told | undefined): unknown {
  return told === undefined ? undefined : (JSON.parse(JSON.stringify(told)) as unknown)
}

function partings(expected: unknown, actual: unknown, path: string): readonly string[] {
  if (isDeepStrictEqual(expected, actual)) return []
  if (!isMap(expected) || !isMap(actual)) {
    return [`  ${path}`, `    expected ${JSON.stringify(expected)}`, `    actual   ${JSON.stringify(actual)}`]
  }
  const keys = new Set([...Object.keys(expected), ...Object.keys(actual)])
  return [...keys].flatMap((key) => partings(Reflect.get(expected, key), Reflect.get(actual, key), `${path}.${key}`))
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

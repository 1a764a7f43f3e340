/**
 * Fields as the API may hold them, whatever their types promise. What is not of its type counts as absent, as it does
 * where such an object is decoded into typed fields; so nothing behind a projection need doubt what it reads.
 */

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A timestamp, in seconds since 1970. */
export function seconds(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

export function texts(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.every(isText) ? value : value.filter(isText)
}

/** A null among the values is an empty text. */
export function textMap(value: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  if (isTextMap(value)) return value
  const kept = Object.entries(value).flatMap(([key, each]): [string, string][] => {
    const found = each === null ? '' : text(each)
    return found === undefined ? [] : [[key, found]]
  })
  return Object.fromEntries(kept)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isTextMap(map: object): map is Readonly<Record<string, string>> {
  return Object.values(map).every(isText)
}

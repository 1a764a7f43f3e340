/**
 * Readers of fields of API objects whose values may contradict the declared types. A value of a wrong type counts as
 * absent, so the code that reads cached objects can rely on the types.
 */

import { isJsonObject } from '@csi-sidecars/kube-types'

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Returns a timestamp as seconds since 1970. */
export function asSeconds(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

export function asTexts(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.every(isText) ? value : value.filter(isText)
}

/** Returns a copy of the map without values that are not strings. A null value becomes an empty string. */
export function asTextMap(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isJsonObject(value)) return undefined
  if (isTextMap(value)) return value
  const kept = Object.entries(value).flatMap(([key, each]): [string, string][] => {
    const found = each === null ? '' : asText(each)
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

import { isJsonObject } from '@csi-sidecars/kube-types'

/** Fields of `metadata` that only the API server writes. */
const OF_THE_SERVER = ['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp', 'selfLink']

const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/
const HOUR_MS = 3_600_000

/** Reports whether a text is a time of this run, as the API server writes it. */
function isPresent(text: string): boolean {
  return TIME.test(text) && Math.abs(Date.parse(text) - Date.now()) < HOUR_MS
}

/** Replaces the times of this run by a word. */
export function withoutTimes(line: string): string {
  return line
    .replaceAll(new RegExp(TIME, 'g'), (text) => (isPresent(text) ? 'TIME' : text))
    .replaceAll(/\b\d{19}\b/g, (text) => (Math.abs(Number(text) / 1e6 - Date.now()) < HOUR_MS ? 'NANOSECONDS' : text))
}

/**
 * Returns the merge patch that makes `after` of `before`, without the fields that only the API server writes, and without
 * times of this run that replace such times.
 */
export function mergePatchOf(before: object, after: object): object {
  return differenceOf(written(before), written(after))
}

export function hasChange(change: object): boolean {
  return Object.keys(change).length > 0
}

/** Returns a value as JSON that does not depend on the order of keys. */
export function plainText(value: unknown): string {
  return JSON.stringify(value, (key, each: unknown) => {
    if (typeof each === 'bigint') return String(each)
    // The Go provisioner writes the expressions of a node affinity in the order of a map.
    if (key === 'matchExpressions' && Array.isArray(each)) return each.toSorted(byKey)
    if (!isJsonObject(each)) return each
    return Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

function byKey(one: { readonly key: string }, other: { readonly key: string }): number {
  return one.key < other.key ? -1 : 1
}

function written(object: object): Record<string, unknown> {
  const { kind: _kind, apiVersion: _apiVersion, metadata = {}, ...rest } = object as Record<string, unknown>
  const fields = Object.entries(Object(metadata)).filter(([key]) => !OF_THE_SERVER.includes(key))
  return { ...rest, metadata: Object.fromEntries(fields) }
}

type Fields = Readonly<Record<string, unknown>>

function differenceOf(before: Fields, after: Fields): Record<string, unknown> {
  const difference: Record<string, unknown> = {}
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[key], after[key]]
    if (timelessText(old) === timelessText(now)) continue
    if (isJsonObject(now)) {
      const inner = differenceOf(isJsonObject(old) ? old : {}, now)
      if (hasChange(inner)) difference[key] = inner
    } else difference[key] = now ?? null
  }
  return difference
}

function timelessText(value: unknown): string {
  return withoutTimes(`${plainText(value)}`)
}

import type { V1ListMeta, V1ObjectMeta } from '@kubernetes/client-node'
import type { Wire } from './wire.ts'

export type ObjectMeta = Wire<V1ObjectMeta>
/** The metadata of a list, which the generated readers use. @public */
export type ListMeta = Wire<V1ListMeta>

/** The fields that every object of the API has. */
export interface KubeObject {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMeta | undefined
}

/** Names one object of a resource; the namespace is absent for a cluster's own. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string | undefined
}

/** RFC 3339 in whole seconds, as every timestamp of an object but a Lease's. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** RFC 3339 with six fraction digits, as in Leases: the API server refuses three. */
export function rfc3339Micro(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z')
}

const MAX_INT32 = 2 ** 31 - 1

/** A number that comes from outside, such as seconds or a count: undefined unless it is whole, not negative and an int32. */
export function wholeNumberOf(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_INT32 ? Number(value) : undefined
}

const DECIMAL = /^(?:0|[1-9][0-9]*)$/

/**
 * Orders two resource versions of one resource: negative when `a` is the older.
 * They are whole numbers of any length; any other text is older than all of them.
 */
export function compareResourceVersions(a: string, b: string): number {
  const aIs = DECIMAL.test(a)
  const bIs = DECIMAL.test(b)
  if (!aIs || !bIs) return Number(aIs) - Number(bIs)
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}

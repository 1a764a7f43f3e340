import { conform } from './conform.ts'
import { type ApiObject, isObject } from './json.ts'
import { groupVersionOf, type ServedKind } from './kinds.ts'
import { schemaOf } from './schema.ts'

/** Returns the object in the form that the server stores, for objects that do not come from a request. */
export function completed(kind: ServedKind, object: ApiObject): ApiObject {
  const { apiVersion: _version, kind: _kind, ...fields } = object
  return typed(kind, conform(schemaOf(kind), fields).value)
}

/** Returns the object with its `apiVersion` and `kind` first. */
export function typed(kind: ServedKind, value: { readonly metadata?: unknown }): ApiObject {
  const metadata = isObject(value.metadata) ? value.metadata : {}
  return { apiVersion: groupVersionOf(kind), kind: kind.kind, ...value, metadata }
}

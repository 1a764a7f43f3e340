import { isList, isObject, type Json, type KubeObject, textAt, withMeta } from '../schema/json.ts'
import { groupVersionOf, type Kind } from '../schema/kinds.ts'
import { schemaOf } from '../schema/schema.ts'
import { FieldSet } from './field-set.ts'
import { compare, fieldsOf } from './ownership.ts'
import { structureOf } from './structure.ts'

/** The annotation in which kubectl keeps what it has applied on the client side. */
const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration'
/** The annotation counts only for this manager. */
const KUBECTL = 'kubectl'

/** Fields that kubectl has applied on the client side and no other writer has changed since: kubectl owns them. */
export function lastAppliedFields(manager: string, kind: Kind, live: KubeObject): FieldSet {
  const text = lastApplied(live)
  if (manager !== KUBECTL || text === undefined) return FieldSet.EMPTY
  const object = parsed(text)
  if (!isObject(object) || textAt(object, 'apiVersion') !== groupVersionOf(kind)) return FieldSet.EMPTY
  const structure = structureOf(schemaOf(kind))
  const { added, modified, removed } = compare(structure, object, live)
  return fieldsOf(structure, object).difference(added).difference(modified).difference(removed)
}

/** The object with what kubectl applies now in its annotation, if it has one. */
export function withLastApplied(manager: string, object: KubeObject, patch: KubeObject): KubeObject {
  if (manager !== KUBECTL || lastApplied(object) === undefined) return object
  const { [ANNOTATION]: _former, ...annotations } = patch.metadata.annotations ?? {}
  const none = patch.metadata.annotations === undefined
  const said = withMeta(patch, { annotations: none ? undefined : annotations })
  return withMeta(object, { annotations: { ...object.metadata.annotations, [ANNOTATION]: `${goJson(said)}\n` } })
}

function lastApplied(object: KubeObject): string | undefined {
  return object.metadata.annotations?.[ANNOTATION] || undefined
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** As Go writes it: keys in order, and what HTML would read escaped. */
function goJson(value: Json): string {
  const text = JSON.stringify(sorted(value))
  return text.replace(/[<>&\u2028\u2029]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function sorted(value: Json): Json {
  if (isList(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, item === undefined ? item : sorted(item)]))
}

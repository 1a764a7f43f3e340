import { invariant } from '@csi-sidecars/base'
import { CORE_NODES, CORE_OTHER } from './core-nodes.ts'
import { CORE_POD_VOLUMES } from './core-pod-volumes.ts'
import { CORE_PODS } from './core-pods.ts'
import { CORE_VOLUMES } from './core-volumes.ts'
import type { ServedKind } from './kinds.ts'
import { META } from './meta.ts'
import { APPS, AUTHENTICATION, AUTHORIZATION, COORDINATION, RBAC, STORAGE } from './other-groups.ts'
import { GROUP_SNAPSHOTS, SNAPSHOTS } from './snapshots.ts'

/**
 * The notation of the types: the name of a type on a separate line, then its fields. A field has a name, a number in
 * protobuf, flags and a type, by default `string`. The number `2.5` means field 5 of the message in field 2. JSON has
 * one object for both messages.
 *
 *     name:1               left out when it is "", 0, false or empty; a structure or a time is always written
 *     name:1?              kept also when it is empty: only null and absent leave it out
 *     name:1!              always written, and required
 *     name:1~              a structure that is left out when it is empty
 *     [T] {T}              a list of T, a map from text to T
 *     [T]@key [T]@         strategic merge by a key of the items, or by their value
 *     [T]@key+             the same, and the patch also lists the fields that stay
 */
const SCALARS = [
  'string',
  'bool',
  'int',
  'long',
  'quantity',
  'time',
  'microtime',
  'bytes',
  'intOrString',
  'any',
] as const
export type Scalar = (typeof SCALARS)[number]

export type SchemaFieldType =
  | { readonly kind: 'scalar'; readonly scalar: Scalar }
  | { readonly kind: 'object'; readonly schema: Schema }
  | { readonly kind: 'list'; readonly of: SchemaFieldType }
  | { readonly kind: 'map'; readonly of: SchemaFieldType }

/** One field of a type, in JSON and in protobuf. */
export interface SchemaField {
  readonly name: string
  /** The field number in protobuf, preceded by the numbers of the enclosing messages. */
  readonly numbers: readonly number[]
  readonly type: SchemaFieldType
  readonly pointer: boolean
  readonly always: boolean
  readonly omitsZero: boolean
  readonly merge: Merge | undefined
}

/** The merge strategy of a list: by a key of its items, or by their values if there is no key. */
interface Merge {
  readonly key: string | undefined
  readonly retainKeys: boolean
}

/** A type of the API, with its fields. */
export interface Schema {
  readonly name: string
  /** The Go package in the name of the type's OpenAPI definition, such as `io.k8s.api.core.v1`. */
  readonly package: string
  readonly fields: readonly SchemaField[]
  readonly byName: ReadonlyMap<string, SchemaField>
}

const PACKAGES: readonly (readonly [string, readonly string[]])[] = [
  ['io.k8s.apimachinery.pkg.apis.meta.v1', [META]],
  ['io.k8s.api.core.v1', [CORE_VOLUMES, CORE_NODES, CORE_PODS, CORE_POD_VOLUMES, CORE_OTHER]],
  ['io.k8s.api.apps.v1', [APPS]],
  ['io.k8s.api.storage.v1', [STORAGE]],
  ['io.k8s.storage.snapshot.v1', [SNAPSHOTS]],
  ['io.k8s.storage.groupsnapshot.v1', [GROUP_SNAPSHOTS]],
  ['io.k8s.api.coordination.v1', [COORDINATION]],
  ['io.k8s.api.rbac.v1', [RBAC]],
  ['io.k8s.api.authentication.v1', [AUTHENTICATION]],
  ['io.k8s.api.authorization.v1', [AUTHORIZATION]],
]

interface Draft {
  readonly name: string
  readonly package: string
  readonly fields: SchemaField[]
  readonly byName: Map<string, SchemaField>
  readonly lines: string[]
}

const FIELD = /^(\w+):([\d.]+)([?!~]*)(?: (\S+?)(@(\w*)(\+?))?)?$/

/** All types by name. No two packages contain the same name. */
export const SCHEMAS: ReadonlyMap<string, Schema> = readAll()

export function schemaOf({ kind }: Pick<ServedKind, 'kind'>): Schema {
  return schemaNamed(kind)
}

export function schemaNamed(name: string): Schema {
  const found = SCHEMAS.get(name)
  invariant(found !== undefined, `no type ${name}`)
  return found
}

function readAll(): ReadonlyMap<string, Schema> {
  const drafts = new Map<string, Draft>()
  for (const [inPackage, texts] of PACKAGES) {
    for (const text of texts) collect(drafts, inPackage, text)
  }
  for (const draft of drafts.values()) {
    for (const text of draft.lines.join(' ').split(', ')) addField(drafts, draft, text)
  }
  return drafts
}

function collect(drafts: Map<string, Draft>, inPackage: string, text: string): void {
  let draft: Draft | undefined
  for (const line of text.split('\n')) {
    if (line.startsWith('  ')) draft?.lines.push(line.trim())
    else if (line !== '') {
      invariant(!drafts.has(line), `type ${line} is defined twice`)
      draft = { name: line, package: inPackage, fields: [], byName: new Map(), lines: [] }
      drafts.set(line, draft)
    }
  }
}

function addField(drafts: ReadonlyMap<string, Draft>, draft: Draft, text: string): void {
  const [, name = '', numbers = '', flags = '', type = 'string', merged, key = '', retain] = FIELD.exec(text) ?? []
  invariant(name !== '', `${draft.name}: ${text} is no field`)
  const field: SchemaField = {
    name,
    numbers: numbers.split('.').map(Number),
    type: typeOf(drafts, type),
    pointer: flags.includes('?'),
    always: flags.includes('!'),
    omitsZero: flags.includes('~'),
    merge: merged === undefined ? undefined : { key: key === '' ? undefined : key, retainKeys: retain === '+' },
  }
  draft.fields.push(field)
  draft.byName.set(name, field)
}

function typeOf(drafts: ReadonlyMap<string, Draft>, text: string): SchemaFieldType {
  if (text.startsWith('[')) return { kind: 'list', of: typeOf(drafts, text.slice(1, -1)) }
  if (text.startsWith('{')) return { kind: 'map', of: typeOf(drafts, text.slice(1, -1)) }
  const scalar = SCALARS.find((each) => each === text)
  if (scalar !== undefined) return { kind: 'scalar', scalar }
  const schema = drafts.get(text)
  invariant(schema !== undefined, `no type ${text}`)
  return { kind: 'object', schema }
}

/** Returns the type of the object in a field, or of the objects in a list or a map. Undefined for other fields. */
export function innerSchema(type: SchemaFieldType): Schema | undefined {
  if (type.kind === 'object') return type.schema
  return type.kind === 'list' || type.kind === 'map' ? innerSchema(type.of) : undefined
}

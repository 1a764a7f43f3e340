import { type ApiFailure, badRequest, invalid } from '../http/api-failure.ts'
import { FieldErrors } from '../http/field-errors.ts'
import { conform, DecodeError } from '../schema/conform.ts'
import { type ApiObject, isObject, type Json, textAt } from '../schema/json.ts'
import { groupVersionOf, KINDS, type ServedKind } from '../schema/kinds.ts'
import { schemaOf } from '../schema/schema.ts'
import { typed } from '../schema/typed.ts'
import { bodyOf } from './decode-body.ts'
import type { FieldValidation } from './query-options.ts'

/** Returns the object in the body of a POST or PUT. Throws 400 if its kind differs from the kind in the path. */
export function objectIn(kind: ServedKind, contentType: string | undefined, body: Buffer): ApiObject {
  const object = bodyOf(contentType, body, { name: kind.kind, schema: schemaOf(kind) })
  if (kind.custom) requireKind(kind, object, body)
  const mismatch = kindMismatch(kind, object)
  if (mismatch !== undefined) {
    const kindName = textAt(object, 'kind') || kind.kind
    const version = textAt(object, 'apiVersion') ?? ''
    const short = version.includes('/') || version === '' ? kind.version : version
    throw badRequest(`${kindName} in version ${JSON.stringify(short)} cannot be handled as a ${kind.kind}: ${mismatch}`)
  }
  return asObject(object)
}

/** A custom resource must name its version and kind, because no registered type supplies them. */
function requireKind(kind: ServedKind, object: Json, body: Buffer): void {
  if (!textAt(object, 'kind')) {
    const text = body.toString()
    const start = `${text.slice(0, 30)} ...`
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind.kind}): Object 'Kind' is missing in '${text}' (${start})`,
    )
  }
  if (textAt(object, 'apiVersion')) return
  throw badRequest(`the API version in the data () does not match the expected API version (${groupVersionOf(kind)})`)
}

/** Returns an error message if the kind of an object differs from the kind in the path. Otherwise undefined. */
export function kindMismatch(kind: ServedKind, object: Json): string | undefined {
  const version = textAt(object, 'apiVersion') || groupVersionOf(kind)
  const kindName = textAt(object, 'kind') || kind.kind
  if (version === groupVersionOf(kind) && kindName === kind.kind) return undefined
  const isServed = KINDS.some((each) => groupVersionOf(each) === version && each.kind === kindName)
  if (!isServed)
    return `no kind ${JSON.stringify(kindName)} is registered for version ${JSON.stringify(version)} in scheme "pkg/runtime/scheme.go:111"`
  const internal = kind.group === '' ? 'core' : kind.group.split('.')[0]
  return `converting (v1.${kindName}) to (${internal}.${kind.kind}): unknown conversion`
}

export function asObject(value: unknown): ApiObject {
  if (!isObject(value)) throw badRequest('json: cannot unmarshal into Go value of type map[string]interface {}')
  const { metadata } = value
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) {
    throw badRequest('json: cannot unmarshal metadata into Go struct field ObjectMeta')
  }
  return { ...value, metadata: metadata ?? {} }
}

/** Returns an object as the server stores it, and the warnings about fields that its type does not have. */
export function decoded(
  kind: ServedKind,
  received: ApiObject,
  { fieldValidation, patched = false }: { fieldValidation: FieldValidation; patched?: boolean },
): { object: ApiObject; warnings: readonly string[] } {
  const { apiVersion: _version, kind: _kind, ...fields } = received
  const refused = (why: string): ApiFailure => (patched ? wrongResult(received, why) : unreadable(kind, why))
  try {
    const { value, unknown } = conform(schemaOf(kind), fields)
    const warnings = unknown.map((path) => `unknown field ${JSON.stringify(path)}`)
    if (warnings.length > 0 && fieldValidation === 'Strict') {
      throw refused(`strict decoding error: ${warnings.join(', ')}`)
    }
    return { object: typed(kind, value), warnings: fieldValidation === 'Warn' ? warnings : [] }
  } catch (error) {
    if (error instanceof DecodeError) throw refused(error.message)
    throw error
  }
}

/** Returns the 422 error for a patch that makes an object invalid. The error message contains the patched object. */
export function wrongResult(result: ApiObject, why: string): ReturnType<typeof invalid> {
  const errors = new FieldErrors()
  errors.invalid('patch', JSON.stringify(result), why)
  return invalid({ group: '', plural: '', kind: '' }, '', errors.causes)
}

function unreadable(kind: ServedKind, why: string): ApiFailure {
  return badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`,
  )
}

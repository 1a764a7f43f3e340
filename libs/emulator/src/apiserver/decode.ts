import { badRequest, unsupportedMediaType } from './api-failure.ts'
import { mediaType, parseObject } from './http-body.ts'
import { isObject, type Json, type JsonObject, type KubeObject, textAt } from './json.ts'
import { groupVersionOf, KINDS, type Kind } from './kinds.ts'
import { decodeMessage, openEnvelope, PROTOBUF } from './protobuf/decode.ts'
import { WireError } from './protobuf/wire.ts'
import { type Schema, schemaOf } from './schema/schema.ts'

/** The object in the body of a POST or PUT, of the kind that the path says. */
export function objectIn(kind: Kind, contentType: string | undefined, body: Buffer): KubeObject {
  const object = bodyOf(contentType, body, { name: kind.kind, schema: schemaOf(kind) })
  const mismatch = kindMismatch(kind, object)
  if (mismatch !== undefined) {
    const said = textAt(object, 'kind') || kind.kind
    const version = textAt(object, 'apiVersion') ?? ''
    const short = version.includes('/') || version === '' ? kind.version : version
    throw badRequest(`${said} in version ${JSON.stringify(short)} cannot be handled as a ${kind.kind}: ${mismatch}`)
  }
  return asObject(object)
}

const READABLE = ['application/json', PROTOBUF]

/** What a body should be. */
export interface Wanted {
  readonly name: string
  readonly schema: Schema
}

/** A body in one of the forms in which clients write. */
export function bodyOf(contentType: string | undefined, body: Buffer, wanted: Wanted): JsonObject {
  const type = mediaType(contentType)
  if (type === '' || type === 'application/json') return parseObject(body)
  if (type !== PROTOBUF) throw unsupportedMediaType(READABLE)
  try {
    const { apiVersion, kind, message } = openEnvelope(body)
    return { apiVersion, kind, ...(kind === wanted.name || kind === '' ? decodeMessage(wanted.schema, message) : {}) }
  } catch (error) {
    if (!(error instanceof WireError)) throw error
    throw badRequest(`the object provided is unrecognized (must be of type ${wanted.name}): ${error.message}`)
  }
}

/** Why an object that says its own kind is not of this one; undefined when it is, or says nothing. */
export function kindMismatch(kind: Kind, object: Json): string | undefined {
  const version = textAt(object, 'apiVersion') || groupVersionOf(kind)
  const said = textAt(object, 'kind') || kind.kind
  if (version === groupVersionOf(kind) && said === kind.kind) return undefined
  const known = KINDS.some((each) => groupVersionOf(each) === version && each.kind === said)
  if (!known)
    return `no kind ${JSON.stringify(said)} is registered for version ${JSON.stringify(version)} in scheme "pkg/runtime/scheme.go:111"`
  const internal = kind.group === '' ? 'core' : kind.group.split('.')[0]
  return `converting (v1.${said}) to (${internal}.${kind.kind}): unknown conversion`
}

export function asObject(value: unknown): KubeObject {
  if (!isObject(value)) throw badRequest('json: cannot unmarshal into Go value of type map[string]interface {}')
  const { metadata } = value
  if (metadata !== undefined && metadata !== null && !isObject(metadata)) {
    throw badRequest('json: cannot unmarshal metadata into Go struct field ObjectMeta')
  }
  return { ...value, metadata: metadata ?? {} }
}

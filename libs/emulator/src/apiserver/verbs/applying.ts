import { appliedTo } from '../apply/apply.ts'
import { asObject, kindMismatch } from '../codec/decode.ts'
import { applyOptionsOf } from '../codec/query-options.ts'
import { ApiFailure, badRequest, conflict } from '../http/api-failure.ts'
import { parseJson } from '../http/read-body.ts'
import { conform, DecodeError } from '../schema/conform.ts'
import { type JsonObject, type KubeObject, textAt } from '../schema/json.ts'
import type { Kind } from '../schema/kinds.ts'
import { schemaOf } from '../schema/schema.ts'
import { keyOf, type Registry, type Target, timestamp, type Written } from '../storage/registry.ts'
import { create } from './creation.ts'
import { update } from './updating.ts'

/** PATCH with an apply patch: sets the fields of its manager, and creates the object when there is none. */
export function apply(
  registry: Registry,
  target: Target,
  { body, query }: { readonly body: Buffer; readonly query: URLSearchParams },
): Written {
  const { force, ...options } = applyOptionsOf(query)
  const { kind } = target
  const patch = patchIn(body, target)
  const live = registry.store.of(kind).get(keyOf(target))?.object
  const how = {
    kind,
    force,
    manager: options.fieldManager,
    subresource: target.status ? 'status' : '',
    now: timestamp(registry.clock),
  }
  if (live === undefined) checkNew(patch, target)
  const result = appliedTo(live, patch, how)
  if (live === undefined && !target.status)
    return create(registry, { ...target, object: result }, { ...options, applied: true })
  return update(registry, target, { ...options, patched: true, applied: true, change: () => result })
}

/** What a patch must say when there is no object yet, and what it must not. */
function checkNew({ metadata }: KubeObject, { kind, name }: Target): void {
  if (metadata.name === undefined) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  }
  if (metadata.uid === undefined) return
  const why = `uid mismatch: the provided object specified uid ${metadata.uid}, and no existing object was found`
  throw conflict(kind, name, why)
}

function patchIn(body: Buffer, { kind, name }: Target): KubeObject {
  const patch = asObject(parseJson(body))
  if (kindMismatch(kind, patch) !== undefined) throw badRequest(`invalid object type: ${typeText(patch)}`)
  checkFields(kind, patch)
  if (patch.metadata['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil')
  if ((patch.metadata.name ?? name) !== name) {
    throw badRequest(`the name of the object (${patch.metadata.name}) does not match the name on the URL (${name})`)
  }
  return patch
}

/** A field that the type does not have can have no owner, so it is an error with every fieldValidation. */
function checkFields(kind: Kind, patch: KubeObject): void {
  const { apiVersion: _version, kind: _kind, ...fields } = patch
  const { namespace = '', name = '' } = patch.metadata
  const unknown = wrongFields(kind, fields)
  if (unknown.length === 0) return
  const why = unknown.length === 1 ? unknown[0] : `errors:\n${unknown.map((each) => `  ${each}`).join('\n')}`
  const what = `${namespace}/${name}; ${typeText(patch)}`
  throw new ApiFailure('', `failed to create typed patch object (${what}): ${why}`)
}

function wrongFields(kind: Kind, fields: JsonObject): readonly string[] {
  try {
    return conform(schemaOf(kind), fields).unknown.map((path) => `.${path}: field not declared in schema`)
  } catch (error) {
    if (error instanceof DecodeError) return [error.message]
    throw error
  }
}

/** As Go prints the type of an object. */
function typeText(patch: KubeObject): string {
  const version = textAt(patch, 'apiVersion') ?? ''
  return `${version.includes('/') ? version : `/${version}`}, Kind=${textAt(patch, 'kind') ?? ''}`
}

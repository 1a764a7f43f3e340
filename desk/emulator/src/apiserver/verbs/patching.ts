import { asObject, kindMismatch, wrongResult } from '../codec/decode.ts'
import { ApiFailure, badRequest, unsupportedMediaType } from '../http/api-failure.ts'
import { mediaType, parseJson } from '../http/read-body.ts'
import { applyJsonPatch } from '../patch/json-patch.ts'
import { applyMergePatch } from '../patch/merge-patch.ts'
import { applyStrategicMerge, listRulesOf } from '../patch/strategic-merge.ts'
import { type ApiObject, isList, isObject, type Json } from '../schema/json.ts'
import { kindNamed, type ServedKind } from '../schema/kinds.ts'

const APPLY = 'application/apply-patch+yaml'
const STRATEGIC = 'application/strategic-merge-patch+json'
const TYPES = ['application/json-patch+json', 'application/merge-patch+json', STRATEGIC]
const CUSTOM_TYPES = ['application/json-patch+json', 'application/merge-patch+json', APPLY]

/** Returns the change that the body of a PATCH describes. The body is read only if the object exists. */
export function patchOf(
  kind: ServedKind,
  contentType: string | undefined,
  body: Buffer,
): (old: ApiObject) => ApiObject {
  const type = mediaType(contentType)
  if (type === APPLY) {
    const why = 'the emulator does not support server-side apply: use kubectl apply without --server-side'
    throw new ApiFailure('UnsupportedMediaType', why)
  }
  const types = kind.custom ? CUSTOM_TYPES : TYPES
  if (!types.includes(type)) throw unsupportedMediaType(types)
  return (old) => {
    const result = asObject(applied(kind, old, { type, patch: parseJson(body) }))
    const mismatch = kindMismatch(kind, result)
    if (mismatch !== undefined) throw wrongResult(result, mismatch)
    return result
  }
}

/** Returns the patched object, for fakes of the API that do not use this server. Throws an ApiFailure. */
export function patchedObject(
  resource: { readonly group: string; readonly plural: string },
  object: ApiObject,
  { contentType, body }: { readonly contentType: string; readonly body: unknown },
): ApiObject {
  return patchOf(kindNamed(resource), contentType, Buffer.from(JSON.stringify(body)))(object)
}

function applied(kind: ServedKind, old: ApiObject, { type, patch }: { type: string; patch: Json }): Json {
  if (type === 'application/json-patch+json') return applyJsonPatch(old, patch)
  if (!isObject(patch)) {
    if (patch === null) throw badRequest('Invalid JSON Patch')
    const shape = isList(patch) ? 'array' : typeof patch
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${shape} into Go value of type map[string]interface {}`,
    )
  }
  if (type === 'application/merge-patch+json') return applyMergePatch(old, patch)
  return applyStrategicMerge(old, patch, listRulesOf(kind))
}

import { badRequest, invalid, unsupportedMediaType } from './api-failure.ts'
import { asObject, kindMismatch } from './decode.ts'
import { mediaType, parseJson } from './http-body.ts'
import { isList, isObject, type Json, type KubeObject } from './json.ts'
import type { Kind } from './kinds.ts'
import { listRulesOf } from './list-rules.ts'
import { applyJsonPatch } from './patch/json-patch.ts'
import { applyMergePatch } from './patch/merge-patch.ts'
import { applyStrategicMerge } from './patch/strategic-merge.ts'
import { Problems } from './problems.ts'

const TYPES = ['application/json-patch+json', 'application/merge-patch+json', 'application/strategic-merge-patch+json']

/** What the body of a PATCH does to an object. The body is read only when there is an object. */
export function patchOf(kind: Kind, contentType: string | undefined, body: Buffer): (old: KubeObject) => KubeObject {
  const type = mediaType(contentType)
  if (!TYPES.includes(type)) throw unsupportedMediaType(TYPES)
  return (old) => {
    const result = asObject(applied(kind, old, { type, patch: parseJson(body) }))
    const mismatch = kindMismatch(kind, result)
    if (mismatch !== undefined) throw wrongResult(result, mismatch)
    return result
  }
}

function applied(kind: Kind, old: KubeObject, { type, patch }: { type: string; patch: Json }): Json {
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

/** 422 about what a patch has made of an object. It is not of the writer's making, so it is shown. */
export function wrongResult(result: KubeObject, why: string): ReturnType<typeof invalid> {
  const problems = new Problems()
  problems.invalid('patch', JSON.stringify(result), why)
  return invalid({ group: '', plural: '', kind: '' }, '', problems.causes)
}

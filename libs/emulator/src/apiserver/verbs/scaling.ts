import { decoded, objectIn } from '../codec/decode.ts'
import { writeOptionsOf } from '../codec/query-options.ts'
import { invalid, methodNotAllowed } from '../http/api-failure.ts'
import { FieldErrors } from '../http/field-errors.ts'
import type { ResourceRequest } from '../http/request-info.ts'
import { at, type Json, type JsonObject, type KubeObject, objectAt, withMeta, withSpec } from '../schema/json.ts'
import { SCALE } from '../schema/kinds.ts'
import { existing, type Registry, type Target } from '../storage/registry.ts'
import { selectorText } from '../storage/selector-text.ts'
import type { Call } from './call.ts'
import { patchOf } from './patching.ts'
import { update } from './updating.ts'

/** GET, PUT and PATCH of `deployments/x/scale`: how many pods a workload wants. Answers the Scale. */
export function scale(registry: Registry, target: Target, call: Call): JsonObject {
  const { request, query, contentType, body, writer } = call
  const { object } = existing(registry, target)
  if (request.verb === 'get') return scaleOf(object)
  const patched = request.verb === 'patch'
  const options = writeOptionsOf(patched ? 'PatchOptions' : 'UpdateOptions', query, { writer })
  const asked = patched ? patchOf(SCALE, contentType, body)(scaleOf(object)) : replaced(request, contentType, body)
  const { object: wanted } = decoded(SCALE, asked, { ...options, patched })
  const replicas = at(wanted, 'spec', 'replicas') ?? 0
  checkReplicas(target.name, replicas)
  const written = update(registry, target, {
    ...options,
    patched: true,
    subresource: 'scale',
    change: (live) => {
      const scaled = withSpec(live, (spec) => ({ ...spec, replicas }))
      return withMeta(scaled, { resourceVersion: wanted.metadata.resourceVersion ?? '' })
    },
  })
  return scaleOf(written.entry.object)
}

function replaced({ verb }: ResourceRequest, contentType: string | undefined, body: Buffer): KubeObject {
  if (verb !== 'update') throw methodNotAllowed()
  return objectIn(SCALE, contentType, body)
}

function checkReplicas(name: string, replicas: Json): void {
  if (Number(replicas) >= 0) return
  const errors = new FieldErrors()
  errors.invalid('spec.replicas', replicas, 'must be greater than or equal to 0')
  throw invalid(SCALE, name, errors.causes)
}

function scaleOf({ metadata, spec, status }: KubeObject): KubeObject {
  const { name = '', namespace = '', uid = '', resourceVersion = '', creationTimestamp = '' } = metadata
  const replicas = at(spec, 'replicas')
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === undefined || replicas === 0 ? {} : { replicas },
    status: { replicas: at(status, 'replicas') ?? 0, selector: selectorText(objectAt(spec, 'selector') ?? {}) },
  }
}

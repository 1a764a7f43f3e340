import type { AuthenticatedUser, Authentication } from '../access/authentication.ts'
import { decoded, objectIn } from '../codec/decode.ts'
import { bodyOf } from '../codec/decode-body.ts'
import { checkListOptions, deleteOptionsOf, writeOptionsOf } from '../codec/query-options.ts'
import { mediaTypeOf, objectText, type Rendering, renderList, renderObject } from '../codec/representation.ts'
import { methodNotAllowed } from '../http/api-failure.ts'
import type { HttpReply } from '../http/reply.ts'
import type { ResourceRequest } from '../http/request-info.ts'
import { BINDING, type ServedKind } from '../schema/kinds.ts'
import { schemaNamed } from '../schema/schema.ts'
import { checkReadVersion, listPage, scopeOf } from '../storage/list-page.ts'
import { existing, keyOf, type ObjectRegistry, type WriteResult, type WriteTarget } from '../storage/registry.ts'
import { bind } from './binding.ts'
import { create } from './creation.ts'
import { remove } from './deletion.ts'
import { patchOf } from './patching.ts'
import { issueToken, review } from './reviews.ts'
import { checkAddress, update } from './updating.ts'

/** The dependencies of all verbs. */
export interface VerbParts {
  readonly registry: ObjectRegistry
  readonly authentication: Authentication
}

/** One authorized request for a resource, with its body. */
export interface ResourceCall {
  readonly request: ResourceRequest
  readonly user: AuthenticatedUser
  readonly query: URLSearchParams
  readonly contentType: string | undefined
  readonly body: Buffer
  readonly rendering: Rendering
}

/** Performs a request of any verb except watch. It is synchronous, so two requests never overlap. */
export function answer({ registry, authentication }: VerbParts, call: ResourceCall): HttpReply {
  const { request } = call
  if (request.kind.reviewOnly) return reviewed(registry, authentication, call)
  if (request.subresource === 'token') return tokenFor(registry, authentication, call)
  switch (request.verb) {
    case 'get':
      checkReadVersion(registry.store.revision, call.query)
      return rendered(call, renderObject(request.kind, existing(registry, targetOf(request)), call.rendering))
    case 'list':
      return list(registry, call)
    case 'create':
      return createFrom(registry, call)
    case 'update':
      return written(request.kind, replace(registry, call))
    case 'patch':
      return written(request.kind, patch(registry, call))
    case 'delete':
      return removeOne(registry, call)
    case 'deletecollection':
      return removeAll(registry, call)
    default:
      throw methodNotAllowed()
  }
}

function targetOf(request: ResourceRequest): WriteTarget {
  const { kind, namespace, name, subresource } = request
  if (name === undefined) throw methodNotAllowed()
  return { kind, namespace, name, status: subresource === 'status' }
}

function list(registry: ObjectRegistry, call: ResourceCall): HttpReply {
  const { request, query, rendering } = call
  const { kind, namespace } = request
  checkListOptions(query)
  const collection = registry.store.of(kind)
  const listing = listPage(collection, scopeOf(kind, namespace, query), { revision: registry.store.revision, query })
  return rendered(call, renderList(kind, listing, rendering))
}

function rendered({ rendering }: ResourceCall, text: string | Buffer): HttpReply {
  return { code: 200, text, contentType: mediaTypeOf(rendering.shape) }
}

function createFrom(registry: ObjectRegistry, { request, query, contentType, body }: ResourceCall): HttpReply {
  const { kind, namespace, name } = request
  if (name !== undefined || (kind.namespaced && namespace === undefined)) throw methodNotAllowed()
  const options = writeOptionsOf('CreateOptions', query)
  return written(kind, create(registry, { kind, namespace, object: objectIn(kind, contentType, body) }, options))
}

function replace(registry: ObjectRegistry, { request, query, contentType, body }: ResourceCall): WriteResult {
  const target = targetOf(request)
  const options = writeOptionsOf('UpdateOptions', query)
  const object = objectIn(target.kind, contentType, body)
  checkAddress(target, object)
  const isNew = registry.store.of(target.kind).get(keyOf(target)) === undefined
  if (!isNew || !target.kind.createOnUpdate || target.status)
    return update(registry, target, { ...options, change: () => object })
  return create(registry, { ...target, object }, options)
}

function patch(registry: ObjectRegistry, { request, query, contentType, body }: ResourceCall): WriteResult {
  const target = targetOf(request)
  const change = patchOf(target.kind, contentType, body)
  return update(registry, target, { ...writeOptionsOf('PatchOptions', query), patched: true, change })
}

function reviewed(registry: ObjectRegistry, authentication: Authentication, call: ResourceCall): HttpReply {
  const { request, user, contentType, body } = call
  const { kind, verb, name } = request
  if (verb !== 'create' || name !== undefined) throw methodNotAllowed()
  if (kind === BINDING) return boundBy(registry, call)
  return written(kind, review({ registry, authentication, user }, kind, objectIn(kind, contentType, body)))
}

function boundBy(registry: ObjectRegistry, { request, query, contentType, body }: ResourceCall): HttpReply {
  const { object } = decoded(BINDING, objectIn(BINDING, contentType, body), { fieldValidation: 'Warn' })
  bind(registry, object, {
    namespace: request.namespace,
    dryRun: writeOptionsOf('CreateOptions', query).dryRun,
  })
  return { code: 201, text: JSON.stringify({ ...SUCCESS, code: 201 }) }
}

const SUCCESS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }

const TOKEN_REQUEST = { name: 'TokenRequest', schema: schemaNamed('AccountTokenRequest') }

function tokenFor(
  registry: ObjectRegistry,
  authentication: Authentication,
  { request, contentType, body }: ResourceCall,
): HttpReply {
  if (request.verb !== 'create') throw methodNotAllowed()
  const { object } = existing(registry, targetOf(request))
  const issued = issueToken({ registry, authentication }, object, bodyOf(contentType, body, TOKEN_REQUEST))
  return { code: 201, text: JSON.stringify(issued) }
}

function removeOne(registry: ObjectRegistry, { request, query, contentType, body }: ResourceCall): HttpReply {
  const target = targetOf(request)
  const { kind, name } = target
  const { entry, gone } = remove(registry, target, deleteOptionsOf(query, body, contentType))
  if (kind.returnsDeleted || !gone) return { code: 200, text: objectText(kind, entry) }
  const details = { name, group: kind.group || undefined, kind: kind.plural, uid: entry.object.metadata.uid }
  return { code: 200, text: JSON.stringify({ ...SUCCESS, details }) }
}

function removeAll(
  registry: ObjectRegistry,
  { request, query, contentType, body, rendering }: ResourceCall,
): HttpReply {
  const { kind, namespace } = request
  if (kind.namespaced && namespace === undefined) throw methodNotAllowed()
  const options = deleteOptionsOf(query, body, contentType)
  const collection = registry.store.of(kind)
  const listing = listPage(collection, scopeOf(kind, namespace, query), { revision: registry.store.revision, query })
  const entries = listing.entries.map(({ object }) => {
    const target = { kind, namespace: object.metadata.namespace, name: object.metadata.name ?? '', status: false }
    return remove(registry, target, options).entry
  })
  return { code: 200, text: renderList(kind, { ...listing, entries }, rendering) }
}

function written(kind: ServedKind, { entry, created, warnings }: WriteResult): HttpReply {
  return { code: created ? 201 : 200, text: objectText(kind, entry), warnings }
}

import { decoded } from '../codec/decode.ts'
import type { WriteOptions } from '../codec/query-options.ts'
import { ApiFailure, alreadyExists, badRequest, forbidden, notFound } from '../http/api-failure.ts'
import { type ApiObject, type MetaChange, withField, withMeta } from '../schema/json.ts'
import { hasStatus, NAMESPACE, type ServedKind } from '../schema/kinds.ts'
import { completed } from '../schema/typed.ts'
import { commit, keyOf, type ObjectRegistry, systemFields, timestamp, type WriteResult } from '../storage/registry.ts'
import { nameSuffix } from '../storage/uid.ts'
import { defaulted, strategyOf } from '../strategies/index.ts'
import { validate } from '../strategies/validation.ts'

/** Creates an object, for a POST. */
export function create(
  registry: ObjectRegistry,
  request: { readonly kind: ServedKind; readonly namespace: string | undefined; readonly object: ApiObject },
  options: WriteOptions,
): WriteResult {
  const { kind } = request
  const { object: received, warnings } = decoded(kind, request.object, options)
  const named = withName(registry, request, received)
  const object = withMeta(named, { ...namespaceFor(request, named), ...systemFields(registry) })
  checkNamespace(registry, kind, object)
  if ((received.metadata.resourceVersion ?? '') !== '') {
    throw new ApiFailure('', 'resourceVersion should not be set on objects to be created')
  }
  const complete = strategyOf(kind).complete?.(registry.store, object) ?? object
  const prepared = prepare(kind, complete, timestamp(registry.clock))
  validate(kind, prepared)
  strategyOf(kind).admit?.(registry.store, prepared, undefined)
  const target = { kind, namespace: prepared.metadata.namespace, name: prepared.metadata.name ?? '', status: false }
  const present = registry.store.of(kind).get(keyOf(target))
  if (present !== undefined)
    throw alreadyExists(kind, target.name, present.object.metadata.deletionTimestamp !== undefined)
  return {
    entry: commit(registry, target, { object: prepared, dryRun: options.dryRun }),
    created: true,
    warnings: [...warnings, ...(strategyOf(kind).warnings?.(prepared, undefined) ?? [])],
  }
}

function prepare(kind: ServedKind, object: ApiObject, now: string): ApiObject {
  const strategy = strategyOf(kind)
  const born = withMeta(object, { generation: kind.firstGeneration })
  const withDefaults = defaulted(kind, born)
  const started =
    hasStatus(kind) && strategy.keepsStatus !== true ? withField(withDefaults, 'status', undefined) : withDefaults
  return completed(kind, strategy.prepareCreate?.(started, now) ?? started)
}

const MAX_GENERATED_LENGTH = 63
const SUFFIX_LENGTH = 5

const NAMES_TRIED = 8

/** Sets a generated name. Tries several names until one is free. */
function withName(
  { clock, store }: ObjectRegistry,
  { kind, namespace }: { kind: ServedKind; namespace: string | undefined },
  object: ApiObject,
): ApiObject {
  const { name = '', generateName = '' } = object.metadata
  if (name !== '' || generateName === '') return object
  const prefix = generateName.slice(0, MAX_GENERATED_LENGTH - SUFFIX_LENGTH)
  let generated = prefix
  for (let left = NAMES_TRIED; left > 0; left -= 1) {
    generated = prefix + nameSuffix(clock, store.revision)
    if (store.of(kind).get(keyOf({ namespace, name: generated })) === undefined) break
  }
  return withMeta(object, { name: generated })
}

function namespaceFor(
  { kind, namespace: requested }: { kind: ServedKind; namespace: string | undefined },
  object: ApiObject,
): MetaChange {
  const { namespace = '' } = object.metadata
  if (namespace !== '' && namespace !== (requested ?? '')) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
  return kind.namespaced && requested !== undefined ? { namespace: requested } : {}
}

/** Throws if the namespace of an object does not exist or is terminating. */
function checkNamespace(registry: ObjectRegistry, kind: ServedKind, object: ApiObject): void {
  const { namespace } = object.metadata
  if (!kind.namespaced || namespace === undefined) return
  const found = registry.store.of(NAMESPACE).get(namespace)
  if (found === undefined) throw notFound(NAMESPACE, namespace)
  if (found.object.metadata.deletionTimestamp === undefined) return
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`
  throw forbidden(kind, object.metadata.name ?? '', why)
}

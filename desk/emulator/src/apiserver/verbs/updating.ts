import { decoded } from '../codec/decode.ts'
import type { WriteOptions } from '../codec/query-options.ts'
import { badRequest, conflict, invalid, OBJECT_MODIFIED } from '../http/api-failure.ts'
import { FieldErrors } from '../http/field-errors.ts'
import { type ApiObject, type Json, type MetaChange, sameJson, withField, withMeta } from '../schema/json.ts'
import { hasStatus, type ServedKind } from '../schema/kinds.ts'
import {
  commit,
  existing,
  keyOf,
  type ObjectRegistry,
  timestamp,
  unstored,
  type WriteResult,
  type WriteTarget,
} from '../storage/registry.ts'
import { defaulted, strategyOf } from '../strategies/index.ts'
import { validate } from '../strategies/validation.ts'

interface UpdateOptions extends WriteOptions {
  readonly patched?: boolean
}

/** Performs a PUT or a PATCH. `change` returns the new object for the stored object. */
export function update(
  registry: ObjectRegistry,
  target: WriteTarget,
  options: UpdateOptions & { readonly change: (old: ApiObject) => ApiObject },
): WriteResult {
  const { kind } = target
  const { object: old, text } = existing(registry, target)
  const { object: asked, warnings: unknown } = decoded(kind, options.change(old), options)
  checkAddress(target, asked)
  const version = asked.metadata.resourceVersion ?? ''
  if (version !== '' && version !== old.metadata.resourceVersion) throw conflict(kind, target.name, OBJECT_MODIFIED)
  if (options.patched !== true) checkUid(target, asked, old)
  const now = timestamp(registry.clock)
  const merged = withMeta(asked, fixedMeta(asked, old))
  const prepared = prepare(target, merged, { old, now })
  if (version === '' && !kind.unconditionalUpdate) throw unconditional(target)
  if (registry.validates) validate(kind, prepared, { old, status: target.status })
  if (!target.status) strategyOf(kind).admit?.(registry.store, prepared, old)
  const warnings = target.status ? unknown : [...unknown, ...(strategyOf(kind).warnings?.(prepared, old) ?? [])]
  if (sameJson(withMeta(prepared, VERSIONLESS), withMeta(old, VERSIONLESS)))
    return { entry: { object: old, text }, created: false, warnings }
  if (!isFinished(prepared))
    return { entry: commit(registry, target, { object: prepared, dryRun: options.dryRun }), created: false, warnings }
  // The update removes the object: watches get the stored object, and the writer gets the object that it sent.
  if (!options.dryRun) registry.store.remove(kind, keyOf(target), old)
  return { entry: unstored(prepared), created: false, warnings }
}

/** Reports whether a deleted object can be removed: it has no finalizer and no grace period. */
export function isFinished(object: ApiObject): boolean {
  const { deletionTimestamp, finalizers = [], deletionGracePeriodSeconds = 0 } = object.metadata
  return deletionTimestamp !== undefined && finalizers.length === 0 && deletionGracePeriodSeconds === 0
}

/** Returns the metadata that a write cannot change and may omit. */
function fixedMeta(asked: ApiObject, old: ApiObject): MetaChange {
  const { uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds } = old.metadata
  return {
    ...(old.metadata.namespace === undefined ? {} : { namespace: old.metadata.namespace }),
    uid: asked.metadata.uid ?? uid,
    creationTimestamp,
    generation,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(asked.metadata.deletionGracePeriodSeconds === undefined ? { deletionGracePeriodSeconds } : {}),
    selfLink: undefined,
  }
}

function prepare(target: WriteTarget, object: ApiObject, { old, now }: { old: ApiObject; now: string }): ApiObject {
  const { kind } = target
  const strategy = strategyOf(kind)
  const completed = defaulted(kind, object)
  if (target.status) {
    const onlyStatus = withField({ ...old, metadata: completed.metadata }, 'status', completed['status'])
    return strategy.prepareStatus?.(onlyStatus, old, now) ?? onlyStatus
  }
  const kept = hasStatus(kind) ? withField(completed, 'status', old['status']) : completed
  const prepared = strategy.prepareUpdate?.(kept, old) ?? kept
  return generated(kind, prepared, old)
}

function generated(kind: ServedKind, object: ApiObject, old: ApiObject): ApiObject {
  const counted = (each: ApiObject): Json => (kind.custom ? { ...each, metadata: null } : (each['spec'] ?? null))
  if (kind.firstGeneration === undefined || sameJson(counted(object), counted(old))) return object
  return withMeta(object, { generation: (old.metadata.generation ?? 0) + 1 })
}

/** Throws 400 if the object in a PUT or PATCH has another name or namespace than the path. */
export function checkAddress(target: WriteTarget, object: ApiObject): void {
  const { name = '', namespace = '' } = object.metadata
  if (name === '') {
    throw badRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`)
  }
  if (name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`)
  }
  if (namespace !== '' && namespace !== (target.namespace ?? '')) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  }
}

function checkUid(target: WriteTarget, object: ApiObject, old: ApiObject): void {
  const { uid = '' } = object.metadata
  if (uid === '' || uid === old.metadata.uid) return
  const stored = `StorageError: invalid object, Code: 4, Key: ${storageKey(target)}, ResourceVersion: 0`
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${String(old.metadata.uid)}`
  throw conflict(target.kind, target.name, `${stored}, AdditionalErrorMsg: ${why}`)
}

/** Returns the key of an object in etcd, as messages show it. */
function storageKey(target: WriteTarget): string {
  const { plural } = target.kind
  return `/registry/${plural === 'nodes' ? 'minions' : plural}/${keyOf(target)}`
}

function unconditional(target: WriteTarget): ReturnType<typeof invalid> {
  const errors = new FieldErrors()
  errors.invalid('metadata.resourceVersion', 0, 'must be specified for an update')
  // kube-apiserver uses the plural in this error, although other errors contain the kind.
  return invalid({ ...target.kind, kind: target.kind.plural }, target.name, errors.causes)
}

const VERSIONLESS: MetaChange = { resourceVersion: undefined }

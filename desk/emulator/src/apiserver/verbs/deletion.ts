import type { DeletionOptions } from '../codec/query-options.ts'
import { conflict, forbidden } from '../http/api-failure.ts'
import { type ApiObject, at, textAt, withMeta, withStatus } from '../schema/json.ts'
import { NAMESPACE, POD, type ServedKind } from '../schema/kinds.ts'
import type { StoredEntry } from '../storage/collection.ts'
import { commit, existing, keyOf, type ObjectRegistry, timestamp, type WriteTarget } from '../storage/registry.ts'

interface Deleted {
  /** The removed object, or the object that is only marked as deleted. */
  readonly entry: Pick<StoredEntry, 'object' | 'text'>
  readonly gone: boolean
}

const PROPAGATION_FINALIZERS: Readonly<Record<string, string>> = { Foreground: 'foregroundDeletion', Orphan: 'orphan' }
const DEFAULT_POD_GRACE = 30

/** Removes an object, for a DELETE. An object with finalizers or a grace period is only marked as deleted. */
export function remove(registry: ObjectRegistry, target: WriteTarget, options: DeletionOptions): Deleted {
  const entry = existing(registry, target)
  const { object: old } = entry
  checkPreconditions(target, old, options)
  if (target.kind === NAMESPACE) return removeNamespace(registry, { ...target, entry }, options)
  const finalizers = finalizersFor(old, options)
  const grace = graceFor(target.kind, old, options)
  const now = finalizers.length === 0 && grace === 0
  if (now && target.kind !== POD) {
    if (!options.dryRun) registry.store.remove(target.kind, keyOf(target), old)
    return { entry, gone: true }
  }
  const marked = markDeleted(registry, old, { finalizers, grace })
  const answer = marked === undefined ? entry : commit(registry, target, { object: marked, dryRun: options.dryRun })
  // A pod without a grace period is also marked as deleted before its removal.
  if (now && !options.dryRun) registry.store.remove(target.kind, keyOf(target), answer.object)
  return { entry: answer, gone: now }
}

const LASTING_NAMESPACES = ['default', 'kube-system', 'kube-public']

/** Marks a namespace as terminating. The namespace controller removes it when it is empty. */
function removeNamespace(
  registry: ObjectRegistry,
  { entry, ...target }: WriteTarget & { readonly entry: StoredEntry },
  options: DeletionOptions,
): Deleted {
  if (LASTING_NAMESPACES.includes(target.name)) {
    throw forbidden(target.kind, target.name, 'this namespace may not be deleted')
  }
  const { object: old } = entry
  if (old.metadata.deletionTimestamp !== undefined) return { entry, gone: false }
  const marked = withMeta(old, { deletionTimestamp: timestamp(registry.clock) })
  const object = withStatus(marked, { phase: 'Terminating' })
  return { entry: commit(registry, target, { object, dryRun: options.dryRun }), gone: false }
}

/** Returns the object with `deletionTimestamp`. Undefined if the deletion changes nothing. */
function markDeleted(
  registry: ObjectRegistry,
  old: ApiObject,
  { finalizers, grace }: { readonly finalizers: readonly string[]; readonly grace: number },
): ApiObject | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds, generation } = old.metadata
  const added = finalizers.length !== (old.metadata.finalizers ?? []).length
  const finalizerFields = finalizers.length > 0 ? { finalizers } : {}
  if (deletionTimestamp !== undefined) {
    const shorter = grace < (deletionGracePeriodSeconds ?? 0)
    if (!added && !shorter) return undefined
    return withMeta(old, {
      ...finalizerFields,
      deletionGracePeriodSeconds: Math.min(grace, deletionGracePeriodSeconds ?? 0),
    })
  }
  const deleteAt = registry.clock.now() + grace * 1000
  return withMeta(old, {
    ...finalizerFields,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
    deletionTimestamp: timestamp({ now: () => deleteAt }),
    deletionGracePeriodSeconds: grace,
  })
}

function checkPreconditions(target: WriteTarget, old: ApiObject, options: DeletionOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {}
  // kube-apiserver uses the kind in this error, although other errors contain the plural.
  const subject = { group: target.kind.group, plural: target.kind.kind }
  if (uid !== undefined && uid !== old.metadata.uid) {
    const why =
      `the UID in the precondition (${uid}) does not match the UID in record (${String(old.metadata.uid)}). ` +
      'The object might have been deleted and then recreated'
    throw conflict(subject, target.name, why)
  }
  if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
    const why =
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record ` +
      `(${String(old.metadata.resourceVersion)}). The object might have been modified`
    throw conflict(subject, target.name, why)
  }
}

function finalizersFor(old: ApiObject, options: DeletionOptions): readonly string[] {
  const { finalizers = [] } = old.metadata
  const propagation = options.propagationPolicy
  if (propagation === undefined) return finalizers
  const propagationFinalizer = PROPAGATION_FINALIZERS[propagation]
  const kept = finalizers.filter((each) => !Object.values(PROPAGATION_FINALIZERS).includes(each))
  return propagationFinalizer === undefined ? kept : [...kept, propagationFinalizer]
}

/** Returns the grace period of a deletion in seconds. Only a pod on a node has one. */
function graceFor(kind: ServedKind, old: ApiObject, options: DeletionOptions): number {
  if (kind !== POD) return 0
  const { deletionTimestamp, deletionGracePeriodSeconds } = old.metadata
  // A repeated DELETE without `gracePeriodSeconds` keeps the grace period of a terminating pod.
  if (deletionTimestamp !== undefined && options.gracePeriodSeconds === undefined)
    return deletionGracePeriodSeconds ?? 0
  const phase = textAt(old, 'status', 'phase')
  if ((textAt(old, 'spec', 'nodeName') ?? '') === '' || phase === 'Succeeded' || phase === 'Failed') return 0
  if (options.gracePeriodSeconds !== undefined) return Math.max(options.gracePeriodSeconds, 0)
  const graceOfPod = at(old, 'spec', 'terminationGracePeriodSeconds')
  return typeof graceOfPod === 'number' ? graceOfPod : DEFAULT_POD_GRACE
}

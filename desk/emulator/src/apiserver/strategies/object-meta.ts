import type { FieldErrors } from '../http/field-errors.ts'
import { type ApiObject, at, isList, isObject, type Meta, textAt } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import { label, labelValue, type NameCheck, qualifiedName, subdomain } from './names.ts'

const MAX_ANNOTATION_BYTES = 256 * 1024

/** Checks the metadata of a whole object. */
export function checkMeta(
  errors: FieldErrors,
  object: ApiObject,
  { kind, rules }: { kind: ServedKind; rules: { readonly name?: NameCheck; readonly anyFinalizer?: boolean } },
): void {
  const { name: nameRule = subdomain } = rules
  const { metadata } = object
  if (metadata.generateName !== undefined && metadata.generateName !== '') {
    // Random characters follow the prefix `generateName`, so it may end with a character such as `-`.
    for (const each of nameRule(`${metadata.generateName}a`)) {
      errors.invalid('metadata.generateName', metadata.generateName, each)
    }
  }
  if (metadata.name === undefined || metadata.name === '') {
    errors.required('metadata.name', 'name or generateName is required')
  } else errors.checked('metadata.name', metadata.name, nameRule)
  if (kind.namespaced) errors.checked('metadata.namespace', metadata.namespace ?? '', label)
  checkCommon(errors, metadata)
  if (rules.anyFinalizer !== true) checkFinalizerDomains(errors, metadata)
}

/** Checks the metadata of every write, also of a write of the status. */
function checkCommon(errors: FieldErrors, metadata: Meta): void {
  checkLabels(errors, metadata)
  checkAnnotations(errors, metadata)
  checkOwners(errors, metadata)
  for (const finalizer of metadata.finalizers ?? []) {
    errors.checked('metadata.finalizers', finalizer, qualifiedName)
  }
}

const STANDARD_FINALIZERS = ['foregroundDeletion', 'kubernetes', 'orphan']

function checkFinalizerDomains(errors: FieldErrors, { finalizers = [] }: Meta): void {
  finalizers.forEach((finalizer, index) => {
    if (finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer)) return
    const why = 'name is neither a standard finalizer name nor is it fully qualified'
    errors.invalid(`metadata.finalizers[${index}]`, finalizer, why)
  })
}

function checkLabels(errors: FieldErrors, metadata: Meta): void {
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    errors.checked('metadata.labels', key, qualifiedName)
    errors.checked('metadata.labels', value, labelValue)
  }
}

function checkAnnotations(errors: FieldErrors, metadata: Meta): void {
  for (const key of Object.keys(metadata.annotations ?? {})) {
    for (const each of qualifiedName(key.toLowerCase())) errors.invalid('metadata.annotations', key, each)
  }
  errors.atMost('metadata.annotations', metadata.annotations, MAX_ANNOTATION_BYTES)
}

function checkOwners(errors: FieldErrors, metadata: Meta): void {
  const owners = at(metadata, 'ownerReferences')
  if (!isList(owners)) return
  for (const owner of owners) {
    const path = 'metadata.ownerReferences'
    if (!isObject(owner)) continue
    if ((textAt(owner, 'apiVersion') ?? '') === '')
      errors.invalid(`${path}.apiVersion`, '', 'version must not be empty')
    for (const field of ['kind', 'name', 'uid']) {
      if ((textAt(owner, field) ?? '') === '') errors.invalid(`${path}.${field}`, '', 'must not be empty')
    }
  }
}

/** Checks the metadata of an update, in the order of kube-apiserver. */
export function checkMetaUpdate(
  errors: FieldErrors,
  { metadata }: ApiObject,
  { old, anyFinalizer }: { readonly old: ApiObject; readonly anyFinalizer?: boolean },
): void {
  checkCommon(errors, metadata)
  if (old.metadata.deletionTimestamp !== undefined) {
    const had = new Set(old.metadata.finalizers)
    const added = [...new Set(metadata.finalizers)].filter((each) => !had.has(each)).sort()
    if (added.length > 0) {
      const listed = `[]string{${added.map((each) => JSON.stringify(each)).join(', ')}}`
      errors.forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers ${listed}`,
      )
    }
  }
  for (const field of ['name', 'namespace', 'uid', 'deletionGracePeriodSeconds', 'deletionTimestamp']) {
    errors.unchanged(`metadata.${field}`, metadata[field], old.metadata[field])
  }
  if (anyFinalizer !== true) checkFinalizerDomains(errors, metadata)
}

/** The metadata fields that a status write leaves unchanged, for most kinds. */
export const META_KEPT_BY_STATUS = ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'] as const

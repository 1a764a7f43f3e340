import { at, isList, isObject, type KubeObject, type Meta, sameJson, textAt } from './json.ts'
import type { Kind } from './kinds.ts'
import { checkName, label, labelValue, type NameRule, qualifiedName, subdomain } from './names.ts'
import type { Problems } from './problems.ts'

const MOST_ANNOTATION_BYTES = 256 * 1024

/** What holds for the metadata of every object. */
export function checkMeta(
  problems: Problems,
  kind: Kind,
  object: KubeObject,
  rules: { readonly name?: NameRule; readonly anyFinalizer?: boolean },
): void {
  const { name: nameRule = subdomain } = rules
  const { metadata } = object
  if (metadata.generateName !== undefined && metadata.generateName !== '') {
    // A generated name continues the prefix, so the prefix may end in what a name may not end in.
    for (const each of nameRule(`${metadata.generateName}a`)) {
      problems.invalid('metadata.generateName', metadata.generateName, each)
    }
  }
  if (metadata.name === undefined || metadata.name === '') {
    problems.required('metadata.name', 'name or generateName is required')
  } else checkName(problems, 'metadata.name', metadata.name, nameRule)
  if (kind.namespaced) checkName(problems, 'metadata.namespace', metadata.namespace ?? '', label)
  checkLabels(problems, metadata)
  checkAnnotations(problems, metadata)
  checkOwners(problems, metadata)
  checkFinalizers(problems, metadata, rules.anyFinalizer === true)
}

const STANDARD_FINALIZERS = ['foregroundDeletion', 'kubernetes', 'orphan']

function checkFinalizers(problems: Problems, { finalizers = [] }: Meta, any: boolean): void {
  finalizers.forEach((finalizer, index) => {
    checkName(problems, 'metadata.finalizers', finalizer, qualifiedName)
    if (any || finalizer.includes('/') || STANDARD_FINALIZERS.includes(finalizer)) return
    const why = 'name is neither a standard finalizer name nor is it fully qualified'
    problems.invalid(`metadata.finalizers[${index}]`, finalizer, why)
  })
}

function checkLabels(problems: Problems, metadata: Meta): void {
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    checkName(problems, 'metadata.labels', key, qualifiedName)
    checkName(problems, 'metadata.labels', value, labelValue)
  }
}

function checkAnnotations(problems: Problems, metadata: Meta): void {
  let bytes = 0
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    for (const each of qualifiedName(key.toLowerCase())) problems.invalid('metadata.annotations', key, each)
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  }
  if (bytes > MOST_ANNOTATION_BYTES) problems.tooLong('metadata.annotations', MOST_ANNOTATION_BYTES)
}

function checkOwners(problems: Problems, metadata: Meta): void {
  const owners = at(metadata, 'ownerReferences')
  if (!isList(owners)) return
  for (const owner of owners) {
    const path = 'metadata.ownerReferences'
    if (!isObject(owner)) continue
    if ((textAt(owner, 'apiVersion') ?? '') === '')
      problems.invalid(`${path}.apiVersion`, '', 'version must not be empty')
    for (const field of ['kind', 'name', 'uid']) {
      if ((textAt(owner, field) ?? '') === '') problems.invalid(`${path}.${field}`, '', 'must not be empty')
    }
  }
}

/** What holds for the metadata of every update. */
export function checkMetaUpdate(problems: Problems, object: KubeObject, old: KubeObject): void {
  const { metadata } = object
  if (old.metadata.deletionTimestamp !== undefined) {
    const had = new Set(old.metadata.finalizers)
    const added = [...new Set(metadata.finalizers)].filter((each) => !had.has(each)).sort()
    if (added.length > 0) {
      const listed = `[]string{${added.map((each) => JSON.stringify(each)).join(', ')}}`
      problems.forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers ${listed}`,
      )
    }
  }
  for (const field of ['name', 'namespace', 'uid', 'deletionGracePeriodSeconds']) {
    if (!sameJson(metadata[field], old.metadata[field])) {
      problems.invalid(`metadata.${field}`, metadata[field], 'field is immutable')
    }
  }
  const deletion = metadata.deletionTimestamp
  if (deletion !== old.metadata.deletionTimestamp) {
    problems.invalid('metadata.deletionTimestamp', deletion, 'field is immutable')
  }
}

/** What a status write of most kinds leaves as it was: all that others own in the metadata. */
export const META_KEPT_BY_STATUS = ['labels', 'annotations', 'finalizers', 'ownerReferences', 'managedFields'] as const

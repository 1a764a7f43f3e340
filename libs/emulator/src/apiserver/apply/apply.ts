import { ApiFailure } from '../http/api-failure.ts'
import { type KubeObject, withMeta } from '../schema/json.ts'
import { groupVersionOf, hasStatus, type Kind } from '../schema/kinds.ts'
import { schemaOf } from '../schema/schema.ts'
import { completed } from '../schema/typed.ts'
import { FieldSet, type Path, pathText } from './field-set.ts'
import { lastAppliedFields, withLastApplied } from './last-applied.ts'
import { identityOf, type Manager, managedFieldsOf, managersOf } from './managers.ts'
import { type Comparison, compare, fieldsOf, merged, withNamedFields, withoutFields } from './ownership.ts'
import { type Structure, structureOf } from './structure.ts'

/** A write. Its writer owns the fields that it sets. */
export interface Writing {
  readonly kind: Kind
  readonly manager: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** A timestamp in the API's form. */
  readonly now: string | undefined
  /** It creates the object, so its writer is the first manager. */
  readonly creates?: boolean
}

/** Fields without a manager: the server's own, and those that identify the object. */
const NEVER_OWNED = FieldSet.of([
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((field) => ['f:metadata', `f:${field}`]),
])

/**
 * The result of an apply patch: its fields replace those that its manager applied before and no other manager owns.
 * Throws 409 when it would change fields of other managers, unless it is forced.
 */
export function appliedTo(
  live: KubeObject | undefined,
  patch: KubeObject,
  how: Writing & { readonly force: boolean },
): KubeObject {
  const structure = structureOf(schemaOf(how.kind))
  const before = unmanaged(live ?? emptyOf(how.kind))
  const managers = live === undefined ? new Map<string, Manager>() : managersOrFirst(live, how)
  const me = managerOf(how, 'Apply')
  const last = managers.get(identityOf(me))
  const said = fieldsOf(structure, patch).without(ignored(how)).difference(NEVER_OWNED)
  managers.set(identityOf(me), { ...me, time: last?.time, fields: said })
  const whole = merged(structure, before, patch) as KubeObject
  const after = last === undefined ? whole : pruned(structure, whole, { last: last.fields, managers })
  const change = changeOf({ before, after }, how)
  const others = [...managers.values()].filter((manager) => identityOf(manager) !== identityOf(me))
  if (!how.force) refuseConflicts(others, change, lastAppliedFields(how.manager, how.kind, before))
  const changed = ![change.added, change.modified, change.removed].every((set) => set.isEmpty)
  const time = changed || last === undefined ? how.now : last.time
  const owned = withManagers(after, [...others.map((other) => left(other, change)), { ...me, time, fields: said }])
  return withLastApplied(how.manager, owned, patch)
}

/**
 * The object with its managers after an ordinary write. An object without managers keeps none, unless the write
 * creates it.
 */
export function tracked(live: KubeObject | undefined, written: KubeObject, how: Writing): KubeObject {
  const before = live ?? emptyOf(how.kind)
  const given = how.subresource === '' ? managersOf(written) : new Map<string, Manager>()
  const entries = written.metadata['managedFields']
  const reset = how.subresource === '' && Array.isArray(entries) && given.size === 0
  const managers = given.size > 0 ? given : managersOf(before)
  if (reset || (managers.size === 0 && how.creates !== true)) return withMeta(written, { managedFields: undefined })
  const change = changeOf({ before: unmanaged(before), after: unmanaged(written) }, how)
  const me = managerOf(how, 'Update')
  const mine = change.modified.union(change.added).difference(NEVER_OWNED)
  const rest = [...managers.values()].map((manager) => left(manager, change))
  if (mine.isEmpty) return withManagers(written, rest)
  const former = rest.find((manager) => identityOf(manager) === identityOf(me))
  const fields = former === undefined ? mine : former.fields.union(mine)
  return withManagers(written, [...rest.filter((manager) => manager !== former), { ...me, time: how.now, fields }])
}

/** Before the first apply the fields of an object belong to its earlier writers. */
function managersOrFirst(live: KubeObject, how: Writing): Map<string, Manager> {
  const managers = managersOf(live)
  if (managers.size > 0) return managers
  const first = managerOf({ ...how, manager: 'before-first-apply', subresource: '' }, 'Update')
  const { added, modified } = changeOf({ before: emptyOf(how.kind), after: unmanaged(live) }, how)
  const fields = added.union(modified).difference(NEVER_OWNED)
  return new Map([[identityOf(first), { ...first, time: how.now, fields }]])
}

function managerOf(
  { kind, manager: name, subresource }: Writing,
  operation: Manager['operation'],
): Omit<Manager, 'fields' | 'time'> {
  return { name, operation, apiVersion: groupVersionOf(kind), subresource }
}

/** Removes what the manager applied before and does not apply now, unless others own it too. */
function pruned(
  structure: Structure,
  whole: KubeObject,
  { last, managers }: { readonly last: FieldSet; readonly managers: ReadonlyMap<string, Manager> },
): KubeObject {
  const named = (value: KubeObject, fields: FieldSet): FieldSet => withNamedFields(structure, value, fields)
  const without = (fields: FieldSet): KubeObject => withoutFields(structure, whole, fields) as KubeObject
  const all = named(whole, fieldsOf(structure, whole))
  const before = named(whole, last)
  const owned = [...managers.values()].reduce((sum, { fields }) => sum.union(fields), FieldSet.EMPTY)
  const bare = without(before)
  const kept = without(all.difference(named(bare, fieldsOf(structure, bare)).union(named(whole, owned))))
  // Children of a removed field that the manager never applied stay.
  return without(all.difference(named(kept, fieldsOf(structure, kept))).intersection(before))
}

/** Parts that no write changes. */
function ignored({ kind, subresource }: Writing): readonly Path[] {
  if (subresource === 'status') return [['f:spec']]
  return hasStatus(kind) ? [['f:status']] : []
}

function changeOf(
  { before, after }: { readonly before: KubeObject; readonly after: KubeObject },
  how: Writing,
): Comparison {
  const { added, modified, removed } = compare(structureOf(schemaOf(how.kind)), before, after)
  const paths = ignored(how)
  return { added: added.without(paths), modified: modified.without(paths), removed: removed.without(paths) }
}

/** What a manager still owns after another writer has changed the object. */
function left(manager: Manager, { added, modified, removed }: Comparison): Manager {
  return { ...manager, fields: manager.fields.difference(added.union(modified)).difference(removed) }
}

function withManagers(object: KubeObject, managers: Iterable<Manager>): KubeObject {
  const managedFields = managedFieldsOf(managers)
  return withMeta(object, { managedFields: managedFields.length === 0 ? undefined : managedFields })
}

function unmanaged(object: KubeObject): KubeObject {
  return withMeta(object, { managedFields: undefined })
}

/** An object with nothing but its type. */
function emptyOf(kind: Kind): KubeObject {
  return completed(kind, { metadata: {} })
}

function refuseConflicts(others: readonly Manager[], change: Comparison, allowed: FieldSet): void {
  const changed = change.added.union(change.modified).difference(allowed)
  const found = others.flatMap((manager) =>
    [...manager.fields.intersection(changed).paths()].map((path) => ({ who: whoIs(manager), field: pathText(path) })),
  )
  const [first] = found
  if (first === undefined) return
  const causes = found.map(({ who, field }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${who}`,
    field,
  }))
  const message =
    found.length === 1 ? `Apply failed with 1 conflict: conflict with ${first.who}: ${first.field}` : listed(found)
  throw new ApiFailure('Conflict', message, { details: { causes } })
}

function listed(found: readonly { readonly who: string; readonly field: string }[]): string {
  const lines = [...new Set(found.map(({ who }) => who))].sort().flatMap((who) => {
    const fields = found.filter((each) => each.who === who).map(({ field }) => `- ${field}`)
    return [`conflicts with ${who}:`, ...fields]
  })
  return `Apply failed with ${found.length} conflicts: ${lines.join('\n')}`
}

function whoIs({ name, operation, apiVersion, subresource }: Manager): string {
  const named = `${JSON.stringify(name)}${subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`}`
  return operation === 'Update' ? `${named} using ${apiVersion}` : named
}

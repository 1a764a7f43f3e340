import { isList, isObject, type Json, type JsonObject, type KubeObject, textAt } from '../schema/json.ts'
import { FieldSet } from './field-set.ts'

/** A manager: its name, its kind of write, and the fields it owns. */
export interface Manager {
  readonly name: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
  readonly time: string | undefined
  readonly fields: FieldSet
}

/** Two entries are the same manager if name and operation agree. An apply manager is the same in all versions. */
export function identityOf({ name, operation, subresource, apiVersion }: Omit<Manager, 'fields' | 'time'>): string {
  return JSON.stringify([operation, name, subresource, operation === 'Update' ? apiVersion : ''])
}

/** The managers of an object by their identity, as its metadata says. */
export function managersOf(object: KubeObject): Map<string, Manager> {
  const entries = object.metadata['managedFields']
  const managers = (isList(entries) ? entries : []).flatMap((entry) => {
    const operation = textAt(entry, 'operation')
    if (!isObject(entry) || (operation !== 'Apply' && operation !== 'Update')) return []
    const manager: Manager = {
      name: textAt(entry, 'manager') ?? '',
      operation,
      apiVersion: textAt(entry, 'apiVersion') ?? '',
      subresource: textAt(entry, 'subresource') ?? '',
      time: textAt(entry, 'time'),
      fields: FieldSet.fromFieldsV1(entry['fieldsV1']),
    }
    return [manager]
  })
  return new Map(managers.map((manager) => [identityOf(manager), manager]))
}

/** The form in which an object keeps its managers: those who apply first, then by time and name. */
export function managedFieldsOf(managers: Iterable<Manager>): readonly Json[] {
  const keyOf = ({ operation, time = '', name, apiVersion, subresource }: Manager): string =>
    [operation, time, name, apiVersion, subresource].join('\n')
  const owning = [...managers].filter(({ fields }) => !fields.isEmpty)
  return owning.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).map(entryOf)
}

function entryOf({ name, operation, apiVersion, subresource, time, fields }: Manager): JsonObject {
  return {
    manager: name,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: fields.toFieldsV1(),
    ...(subresource === '' ? {} : { subresource }),
  }
}

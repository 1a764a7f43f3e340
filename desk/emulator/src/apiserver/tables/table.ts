import { type ApiObject, type JsonMap, withMeta } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'
import type { StoredEntry } from '../storage/collection.ts'
import { AGE, type Column, type Columns, NAME } from './cells.ts'
import { CORE_COLUMNS } from './core-columns.ts'
import { SNAPSHOT_COLUMNS } from './snapshot-columns.ts'
import { VOLUME_COLUMNS } from './volume-columns.ts'

const COLUMNS: Columns = { ...CORE_COLUMNS, ...VOLUME_COLUMNS, ...SNAPSHOT_COLUMNS }

/** The part of the object that each row contains. */
export type RowObject = 'None' | 'Metadata' | 'Object'

/** The options of a table for kubectl. */
export interface TableOptions {
  readonly rows: RowObject
  /** The time for the column AGE, in milliseconds since 1970. */
  readonly now: number
  /** True if the table contains its column definitions. In a watch, only the first event contains them. */
  readonly header: boolean
}

/** Returns objects of a kind as a Table, the form that `kubectl get` prints. */
export function tableOf(
  kind: ServedKind,
  entries: readonly Pick<StoredEntry, 'object'>[],
  options: TableOptions & { readonly metadata: JsonMap },
): JsonMap {
  const columns = COLUMNS[kind.kind] ?? [NAME, AGE]
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata,
    columnDefinitions: options.header ? columns.map(definition) : null,
    rows: entries.map(({ object }) => ({
      cells: columns.map((column) => column.cell(object, options.now)),
      object: rowObject(object, options.rows),
    })),
  }
}

function definition({ name, type, format, priority }: Column): JsonMap {
  return { name, type, format, description: name, priority }
}

function rowObject(object: ApiObject, rows: RowObject): JsonMap | null {
  if (rows === 'None') return null
  return rows === 'Object' ? object : partial(object)
}

/** Returns the metadata of an object as a PartialObjectMetadata. */
export function partial(object: ApiObject): JsonMap {
  const { metadata } = withMeta(object, {})
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

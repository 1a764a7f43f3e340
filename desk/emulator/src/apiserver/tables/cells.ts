import { type ApiObject, at, type Json, textAt } from '../schema/json.ts'
import { ageOf } from './age.ts'

/** One column of a table for kubectl. */
export interface Column {
  readonly name: string
  readonly type: 'string' | 'integer' | 'boolean' | 'date'
  readonly format: '' | 'name'
  /** A column of priority 1 appears only in `kubectl get -o wide`. */
  readonly priority: 0 | 1
  readonly cell: (object: ApiObject, now: number) => Json
}

/** The columns of `kubectl get`, by the names of kinds. */
export type Columns = Readonly<Record<string, readonly Column[]>>

export type Cell = Column['cell']
type ColumnOptions = Partial<Pick<Column, 'type' | 'format' | 'priority'>>

export const WIDE: ColumnOptions = { priority: 1 }
export const BOOLEAN: ColumnOptions = { type: 'boolean' }
export const INTEGER: ColumnOptions = { type: 'integer' }

export function column(name: string, cell: Cell, options: ColumnOptions = {}): Column {
  return { name, type: 'string', format: '', priority: 0, cell, ...options }
}

/** Returns a cell that shows the text at a path, or `otherwise` if there is no text. */
export function text(path: string, otherwise = ''): Cell {
  const steps = path.split('.')
  return (object) => textAt(object, ...steps) ?? otherwise
}

/** Returns a cell that reports whether the value at a path is true. */
export function flag(path: string): Cell {
  const steps = path.split('.')
  return (object) => at(object, ...steps) === true
}

export const NAME = column('Name', (object) => object.metadata.name ?? '', { format: 'name' })
export const AGE = column('Age', (object, now) => ageOf(object.metadata.creationTimestamp, now))
export const CREATED = column('Created At', (object) => object.metadata.creationTimestamp ?? null, { type: 'date' })

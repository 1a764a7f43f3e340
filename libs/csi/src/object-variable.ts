import { UnknownVariableError } from './parameter-template.ts'

/** An object whose name, namespace, labels and annotations are variables of templates. */
export interface VariableObject {
  /** The prefix of the object's variables, such as `pvc`. */
  readonly prefix: string
  readonly name: string
  readonly namespace: string
  /** Returns the labels or the annotations. Undefined if the object has none. */
  readonly entries: (map: 'labels' | 'annotations') => Readonly<Record<string, string>> | undefined
}

const ENTRY = /^(labels|annotations)\['([^']*)'\]$/

/**
 * Returns the value of a variable of the object, such as `pvc.labels['team']`. Undefined if the object has no such label or
 * annotation. Throws UnknownVariableError for a variable that is not of this object.
 */
export function objectVariable(
  variable: string,
  { prefix, name, namespace, entries }: VariableObject,
): string | undefined {
  if (!variable.startsWith(`${prefix}.`)) throw new UnknownVariableError(variable)
  const field = variable.slice(prefix.length + 1)
  if (field === 'name') return name
  if (field === 'namespace') return namespace
  const [, map, entry = ''] = ENTRY.exec(field) ?? []
  if (map !== 'labels' && map !== 'annotations') throw new UnknownVariableError(variable)
  const values = entries(map) ?? {}
  return Object.hasOwn(values, entry) ? values[entry] : undefined
}

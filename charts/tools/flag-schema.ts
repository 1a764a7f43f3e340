import { APPS, EACH, FLAG_KEYS, type FlagKey, PROCESS } from './flag-keys.ts'
import { documentedValues } from './value-comments.ts'

type Schema = { [keyword: string]: unknown }
type Properties = { [key: string]: Schema }

/**
 * Returns values.schema.json with the keys of the flags and the descriptions of values.yaml. Keeps the handwritten
 * parts: the keys that set no flag, and the valid values of texts and lists.
 */
export function withFlags(schema: unknown): Schema {
  const result = structuredClone(schema) as Schema
  for (const key of FLAG_KEYS) {
    if (key.template === undefined) for (const section of sectionsOf(key)) setProperty(result, section, key)
  }
  for (const { key, description } of documentedValues()) {
    const property = propertyAt(result, key.split('.'))
    if (property !== undefined && description !== '') property['description'] = description
  }
  return result
}

/** Returns the sections of values.yaml that have the key. */
function sectionsOf({ section }: FlagKey): readonly string[] {
  if (section === EACH) return APPS
  return section === PROCESS ? [...APPS, 'sidecars'] : [section]
}

function setProperty(schema: Schema, section: string, key: FlagKey): void {
  const path = [section, ...key.name.split('.')]
  const name = path.pop() ?? ''
  const properties = propertyAt(schema, path)?.['properties'] as Properties | undefined
  if (properties === undefined) throw new Error(`values.schema.json has no section ${path.join('.')} for ${key.key}`)
  const isOfOne = [...APPS, 'sidecars'].includes(section)
  properties[name] = propertyOf(key, isOfOne) ?? properties[name] ?? { type: 'string' }
}

/** Returns undefined for texts and lists, whose valid values are written by hand. */
function propertyOf({ flag, minimum, testValue }: FlagKey, isOfOne: boolean): Schema | undefined {
  // Null leaves a flag at its default. Only sections of sidecars allow null.
  const orNull = (type: string): unknown => (isOfOne ? [type, 'null'] : type)
  const least = minimum === undefined ? {} : { minimum }
  switch (flag.type) {
    case 'duration':
      return { $ref: '#/definitions/duration' }
    case 'int':
    case 'uint':
      return { type: orNull('integer'), ...least }
    case 'float':
      return { type: orNull('number'), ...least }
    case 'bool':
      return { type: orNull('boolean') }
    case 'choice':
      return { enum: ['', ...(flag.choices ?? [])] }
    case 'gates':
      return { type: 'object', additionalProperties: { type: 'boolean' } }
    case 'labels':
      return { $ref: '#/definitions/flagLabels' }
    default:
      if (typeof testValue !== 'string' && !Array.isArray(testValue)) {
        throw new Error(`charts/tools/flag-schema.ts does not know what values --${flag.name} (${flag.type}) may have`)
      }
      return undefined
  }
}

function propertyAt(schema: Schema, path: readonly string[]): Schema | undefined {
  return path.reduce<Schema | undefined>(
    (above, key) => (above?.['properties'] as Properties | undefined)?.[key],
    schema,
  )
}

import { Ajv } from 'ajv'

/** The parts of an API server's `swagger.json` that this program reads. */
interface Definition {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Definition>>
  readonly additionalProperties?: unknown
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[]
  readonly [keyword: string]: unknown
}

/**
 * The OpenAPI document of one Kubernetes version, as its source repository stores it. `definitions` has the schema of
 * each type by name.
 */
export interface Swagger {
  readonly definitions: Readonly<Record<string, Definition>>
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

/** Returns the errors that a validation of an object against the schema of its kind finds. */
export type Check = (object: Manifest) => readonly string[]

/** Returns a check for unknown fields and wrong types, like the strict field validation of the API server. */
export function checkOf({ definitions }: Swagger): Check {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema({ $id: 'kubernetes', definitions: mapped(definitions, strict) })
  const names = namesByKind(definitions)
  return (object) => {
    const objectName = `${object.kind} ${object.metadata.name}`
    const name = names.get(`${object.apiVersion} ${object.kind}`)
    if (name === undefined) return [`${objectName}: there is no ${object.apiVersion} ${object.kind}`]
    const validate = ajv.getSchema(`kubernetes#/definitions/${name}`)
    if (validate === undefined) throw new Error(`no definition ${name}`)
    validate(object)
    return (validate.errors ?? []).map(({ instancePath, message = '', params }) => {
      return `${objectName}: ${instancePath} ${message} ${JSON.stringify(params)}`
    })
  }
}

function namesByKind(definitions: Swagger['definitions']): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const [name, definition] of Object.entries(definitions)) {
    const kinds = definition['x-kubernetes-group-version-kind'] ?? []
    // Skips request options such as DeleteOptions, which belong to many API groups. An object belongs to one API group.
    const [{ group = '', version = '', kind = '' } = {}] = kinds
    if (kinds.length === 1) names.set(`${group === '' ? version : `${group}/${version}`} ${kind}`, name)
  }
  return names
}

/** Returns the definition in a form that refuses unknown fields. */
function strict(definition: Definition, name = ''): Definition {
  if (definition.format === 'int-or-string') return { type: ['integer', 'string'] } as unknown as Definition
  // The API server also accepts a number as a quantity.
  if (name.endsWith('.resource.Quantity')) return { type: ['string', 'number'] } as unknown as Definition
  const { properties, items, additionalProperties, ...rest } = definition
  return {
    ...rest,
    ...(items === undefined ? {} : { items: strict(items as Definition) }),
    ...(properties === undefined ? {} : { properties: mapped(properties, (each) => strict(each)) }),
    ...(typeof additionalProperties === 'object' && {
      additionalProperties: strict(additionalProperties as Definition),
    }),
    ...(typeof additionalProperties !== 'object' && properties !== undefined && { additionalProperties: false }),
  }
}

function mapped(
  of: Readonly<Record<string, Definition>>,
  change: (definition: Definition, name: string) => Definition,
): Record<string, Definition> {
  return Object.fromEntries(Object.entries(of).map(([name, definition]) => [name, change(definition, name)]))
}

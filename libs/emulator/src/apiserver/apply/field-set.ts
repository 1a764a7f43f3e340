import { isObject, type Json, type JsonObject } from '../schema/json.ts'

/**
 * A step from a value into it, as managedFields write it: `f:spec`, `k:{"name":"a"}` for an item of a list by its
 * keys, `v:"a/b"` for one by its value.
 */
export type PathElement = string
export type Path = readonly PathElement[]

interface Node {
  readonly member: boolean
  readonly below: FieldSet
}

const SELF = '.'

/** A set of fields of an object. Immutable. */
export class FieldSet {
  static readonly EMPTY = new FieldSet(new Map())
  readonly #nodes: ReadonlyMap<PathElement, Node>

  private constructor(nodes: ReadonlyMap<PathElement, Node>) {
    this.#nodes = nodes
  }

  static of(paths: Iterable<Path>): FieldSet {
    const byFirst = Map.groupBy(paths, ([first = '']) => first)
    const nodes = [...byFirst].map(([element, inside]): [PathElement, Node] => {
      const rests = inside.map(([, ...rest]) => rest)
      const below = FieldSet.of(rests.filter((rest) => rest.length > 0))
      return [element, { member: rests.some((rest) => rest.length === 0), below }]
    })
    return new FieldSet(new Map(nodes))
  }

  /** Reads the form of managedFields. */
  static fromFieldsV1(fields: Json | undefined): FieldSet {
    const nodes = new Map<PathElement, Node>()
    for (const [element, inner] of Object.entries(isObject(fields) ? fields : {})) {
      if (element === SELF) continue
      const keys = isObject(inner) ? Object.keys(inner) : []
      nodes.set(element, { member: keys.length === 0 || keys.includes(SELF), below: FieldSet.fromFieldsV1(inner) })
    }
    return new FieldSet(nodes)
  }

  toFieldsV1(): JsonObject {
    const fields = [...this.#nodes].map(([element, { member, below }]): [string, Json] => {
      if (below.isEmpty) return [element, {}]
      return [element, { ...(member ? { [SELF]: {} } : {}), ...below.toFieldsV1() }]
    })
    return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  get isEmpty(): boolean {
    return this.#nodes.size === 0
  }

  has(element: PathElement): boolean {
    return this.#nodes.get(element)?.member === true
  }

  /** What is in it below a step. */
  below(element: PathElement): FieldSet {
    return this.#nodes.get(element)?.below ?? FieldSet.EMPTY
  }

  /** All paths in it, in order. */
  *paths(before: Path = []): Generator<Path> {
    const sorted = [...this.#nodes].sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [element, { member }] of sorted) if (member) yield [...before, element]
    for (const [element, { below }] of sorted) yield* below.paths([...before, element])
  }

  union(other: FieldSet): FieldSet {
    return this.#combined(other, (mine, theirs) => mine || theirs)
  }

  intersection(other: FieldSet): FieldSet {
    return this.#combined(other, (mine, theirs) => mine && theirs)
  }

  difference(other: FieldSet): FieldSet {
    return this.#combined(other, (mine, theirs) => mine && !theirs)
  }

  /** Without these fields and all that is in them. */
  without(paths: readonly Path[]): FieldSet {
    const within = (path: Path, root: Path): boolean => root.every((element, index) => path[index] === element)
    return FieldSet.of([...this.paths()].filter((path) => !paths.some((root) => within(path, root))))
  }

  #combined(other: FieldSet, keep: (mine: boolean, theirs: boolean) => boolean): FieldSet {
    const nodes = new Map<PathElement, Node>()
    for (const element of new Set([...this.#nodes.keys(), ...other.#nodes.keys()])) {
      const below = this.below(element).#combined(other.below(element), keep)
      const member = keep(this.has(element), other.has(element))
      if (member || !below.isEmpty) nodes.set(element, { member, below })
    }
    return new FieldSet(nodes)
  }
}

/** A path as messages print it: `.spec.containers[name="a"].image`. */
export function pathText(path: Path): string {
  return path.map(elementText).join('')
}

function elementText(element: PathElement): string {
  const rest = element.slice(2)
  switch (element[0]) {
    case 'k': {
      const keys = Object.entries(JSON.parse(rest) as JsonObject)
      return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`
    }
    case 'v':
      return `[=${rest}]`
    default:
      return `.${rest}`
  }
}

type Texts = readonly string[]
type TextMap = Readonly<Record<string, string>>

/** About as many texts as one cluster has nodes, drivers and classes; more are not worth the table. */
const MOST_TEXTS = 20_000
/** The limit for first texts of lists, and that for maps. */
const MOST_GROUPS = 1000
const MOST_LISTS_PER_FIRST_TEXT = 10

/**
 * Keeps one copy of the texts, lists and maps that many objects repeat. Without it each object has its own copy of the
 * names of its node, driver and class, and lists with spare capacity. Not for values that differ in each object.
 */
export class Interner {
  readonly #texts = new Map<string, string>()
  /** The lists by their first text: one look-up is faster than a key of all texts. */
  readonly #lists = new Map<string, Texts[]>()
  readonly #maps = new Map<string, TextMap>()

  text(text: string): string
  text(text: string | null | undefined): string | undefined
  text(text: string | null | undefined): string | undefined {
    if (text == null) return undefined
    const known = this.#texts.get(text)
    if (known === undefined && this.#texts.size < MOST_TEXTS) this.#texts.set(text, text)
    return known ?? text
  }

  list(list: Texts | null | undefined): Texts | undefined {
    if (list == null) return undefined
    const first = list[0] ?? ''
    const lists = this.#lists.get(first) ?? remember(this.#lists, first, [])
    const known = lists.find((each) => each.length === list.length && each.every((text, i) => text === list[i]))
    if (known !== undefined) return known
    const added = list.map((text) => this.text(text))
    if (lists.length < MOST_LISTS_PER_FIRST_TEXT) lists.push(added)
    return added
  }

  map(map: TextMap | null | undefined): TextMap | undefined {
    if (map == null) return undefined
    const key = JSON.stringify(map)
    return this.#maps.get(key) ?? remember(this.#maps, key, map)
  }
}

function remember<T>(known: Map<string, T>, key: string, value: T): T {
  if (known.size < MOST_GROUPS) known.set(key, value)
  return value
}

type Texts = readonly string[]
type TextMap = Readonly<Record<string, string>>

/** About as many texts as one cluster has nodes, drivers and classes; more are not worth the table. */
const MOST_TEXTS = 20_000
/** Of first texts of lists, and of maps. */
const MOST_GROUPS = 1000
const MOST_LISTS_PER_FIRST_TEXT = 10

/**
 * Gives what many objects repeat the same memory. Each object that is read has its own copy of the names of its node,
 * driver and class otherwise, and lists with room for more than they hold. Not for what is different in each object.
 */
export class Interner {
  readonly #texts = new Map<string, string>()
  /** By their first text, which is faster to look up than all of them. */
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

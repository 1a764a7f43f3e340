/** Helpers that build elements. Texts from the cluster are always inserted as text, never as HTML. */

type Child = Node | string | undefined | false

interface Attributes {
  readonly class?: string
  readonly title?: string
  readonly [name: `aria-${string}` | `data-${string}`]: string
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(name, value)
  }
  fill(made, ...children)
  return made
}

export function fill(parent: Element, ...children: readonly Child[]): void {
  parent.replaceChildren(...children.filter((child) => child !== undefined && child !== false))
}

/** Returns an element of page.html. Throws if it is missing. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`the page has no #${id}`)
  return found as E
}

/** Changes a text only if it differs, so that a screen reader does not repeat it. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** Updates the child elements of one parent. A child is kept as long as its key remains, and moves only if needed. */
export class Keyed<T, E extends Element> {
  readonly #parent: Element
  readonly #makeOne: (value: T) => E
  readonly #made = new Map<string, E>()

  constructor(parent: Element, makeOne: (value: T) => E) {
    this.#parent = parent
    this.#makeOne = makeOne
  }

  get(key: string): E | undefined {
    return this.#made.get(key)
  }

  /** Shows exactly one child for each value, in this order. */
  show(values: Iterable<readonly [key: string, value: T]>): void {
    const keys = new Set<string>()
    let next = this.#parent.firstElementChild
    for (const [key, value] of values) {
      keys.add(key)
      const existing = this.#made.get(key)
      const element = existing ?? this.#makeOne(value)
      if (existing === undefined) this.#made.set(key, element)
      if (element === next) next = next.nextElementSibling
      else this.#parent.insertBefore(element, next)
    }
    for (const [key, element] of this.#made) {
      if (keys.has(key)) continue
      element.remove()
      this.#made.delete(key)
    }
  }
}

const CLOCK = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })

export function clockTime(at: number): string {
  return CLOCK.format(at)
}

export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

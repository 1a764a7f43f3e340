/** About as many texts as one cluster has nodes, drivers and classes; more are not worth the table. */
const CAPACITY = 20_000

/**
 * Gives equal texts the same memory. Every parsed object has its own copy of the names of its node, driver and class
 * otherwise. Not for what is different in each object.
 */
export function interner(capacity = CAPACITY): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const first = known.get(text)
    if (first !== undefined) return first
    if (known.size < capacity) known.set(text, text)
    return text
  }
}

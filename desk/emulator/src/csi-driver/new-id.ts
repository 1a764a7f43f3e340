/** Returns a new ID, which begins with the prefix. */
export type NewId = (prefix: string) => string

/** Returns IDs with growing numbers. */
export function numberedIds(): NewId {
  let count = 0
  return (prefix) => {
    count += 1
    return `${prefix}-${count}`
  }
}

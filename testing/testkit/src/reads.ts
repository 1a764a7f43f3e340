/** Returns a proxy of an object. Each field that is read is added to `reads`, except for copied fields. */
export function recordingReads<T extends object>(object: T, reads: Set<string>): T {
  let copied: PropertyKey | undefined
  return new Proxy(object, {
    // A copy, such as an object spread, reads the property descriptor first. `get` then ignores the read of the value.
    getOwnPropertyDescriptor(target, field) {
      copied = field
      return Reflect.getOwnPropertyDescriptor(target, field)
    },
    get(target, field) {
      if (field !== copied) reads.add(String(field))
      copied = undefined
      return Reflect.get(target, field)
    },
  })
}

/** Returns a copy of a cache event. Each field that is read from its objects is added to `reads`. */
export function recordingEvent<E extends object>(event: E, reads: Set<string>): E {
  const entries = Object.entries(event).map(([name, value]) => {
    return [name, typeof value === 'object' && value !== null ? recordingReads(value, reads) : value] as const
  })
  return Object.fromEntries(entries) as E
}

/** Returns a proxy that adds the name of each field that is read to `reads`, except when fields are copied. */
export function recordingReads<T extends object>(object: T, reads: Set<string>): T {
  let copied: PropertyKey | undefined
  return new Proxy(object, {
    // A copy, such as an object spread, reads the property descriptor first. The `get` that follows is not recorded.
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

/** Returns a copy of a cache event. Fields that are read from the event's objects are added to `reads`. */
export function recordingEvent<E extends object>(event: E, reads: Set<string>): E {
  const entries = Object.entries(event).map(([name, value]) => {
    return [name, typeof value === 'object' && value !== null ? recordingReads(value, reads) : value] as const
  })
  return Object.fromEntries(entries) as E
}

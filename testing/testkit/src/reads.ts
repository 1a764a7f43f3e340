/** The object; each field that is read of it enters `reads`. Fields that are copied, as for a patch, do not. */
export function recordingReads<T extends object>(object: T, reads: Set<string>): T {
  let copied: PropertyKey | undefined
  return new Proxy(object, {
    // A copy asks for the property before it reads it.
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

/** An event of a cache; each field that is read of its objects enters `reads`. */
export function recordingEvent<E extends object>(event: E, reads: Set<string>): E {
  const entries = Object.entries(event).map(([name, value]) => {
    return [name, typeof value === 'object' && value !== null ? recordingReads(value, reads) : value] as const
  })
  return Object.fromEntries(entries) as E
}

/** Names an object in a log line: `"namespace/name"` in text, `{"name":...,"namespace":...}` in JSON. */
export class LoggedRef {
  readonly name: string
  readonly namespace: string | undefined

  constructor(name: string, namespace?: string) {
    this.name = name
    this.namespace = namespace === '' ? undefined : namespace
  }

  toString(): string {
    return this.namespace === undefined ? this.name : `${this.namespace}/${this.name}`
  }
}

/** The reference to log for an object with metadata, or for anything else that has a name. */
export function objectRef(object: { readonly name?: string; readonly namespace?: string } | undefined): LoggedRef {
  return new LoggedRef(object?.name ?? '', object?.namespace)
}

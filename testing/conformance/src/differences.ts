/**
 * The differences between this server and kube-apiserver v1.36.3, each with its reason, ten at most. `hide` removes a
 * difference from a value before the comparison. A difference without `hide` concerns requests that no case sends.
 */
export interface Difference {
  readonly what: string
  readonly why: string
  readonly hide?: (key: string, value: unknown) => unknown
}

export const DIFFERENCES: readonly Difference[] = [
  {
    what: 'objects have no metadata.managedFields, and apply patches are refused',
    why: 'Server-side apply is tested on the real server alone.',
    hide: (_key, value) => withoutField(value, 'managedFields'),
  },
  {
    what: 'a refusal says that two specs differ, but does not print the difference',
    why: 'The text is a diff of Go structures with their Go field names, for people.',
    hide: (_key, value) => (typeof value === 'string' ? value.replace(/\n(.|\n)*/, '') : value),
  },
  {
    what: 'structures inside messages are printed with the names of the wire',
    why: 'The real server prints its internal types, whose fields have other names and another order.',
    hide: (_key, value) => (typeof value === 'string' ? value.replace(STRUCTURE, '$1<structure>$2') : value),
  },
  {
    what: 'details.causes names each problem once',
    why: 'The real server checks metadata up to three times on one write and lists a problem as often.',
    hide: (key, value) => (key === 'causes' && Array.isArray(value) ? unique(value) : value),
  },
  {
    what: 'the columns of tables are described by their names alone',
    why: 'Texts of the original for people; kubectl does not show them.',
    hide: (key, value) => (key === 'description' ? '<description>' : value),
  },
  {
    what: 'a field of the wrong type is refused without its Go type, and broken JSON with the message of another parser',
    why: 'The names are those of Go types and of a Go parser. Code and reason are the same.',
  },
  {
    what: 'YAML is not read; answers to writes are JSON also where protobuf is preferred',
    why: 'kubectl sends JSON and reads JSON as well.',
  },
  {
    what: 'a deleted namespace is emptied and removed',
    why: 'In a cluster the controller manager does it, which does not run beside this server.',
  },
  {
    what: 'resources of other groups, and subresources other than status and token, are not served; of workloads only the metadata is kept',
    why: 'The sidecars and the controllers around them do not use them.',
  },
  {
    what: 'a watch or list of the future is answered at once, where the real server first waits three seconds',
    why: 'The wait only hides that a cache lags behind its store; there is no such cache here.',
  },
]

const STRUCTURE = /(Invalid value: )"?(?:\{.*?\}|map\[.*?\])"?(: )/g

function withoutField(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !(field in value)) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== field))
}

function unique(values: readonly unknown[]): readonly unknown[] {
  const seen = new Set<string>()
  return values.filter((value) => {
    const text = JSON.stringify(value)
    if (seen.has(text)) return false
    seen.add(text)
    return true
  })
}

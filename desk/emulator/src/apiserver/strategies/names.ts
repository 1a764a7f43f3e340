const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/

const SUBDOMAIN_WRONG =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with " +
  "an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const LABEL_WRONG =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
  "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const NAME_PART_WRONG =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

/** Returns one error message for each rule that a name breaks. */
export type NameCheck = (name: string) => readonly string[]

export const subdomain: NameCheck = (name) => [
  ...(name.length > 253 ? ['must be no more than 253 characters'] : []),
  ...(SUBDOMAIN.test(name) ? [] : [SUBDOMAIN_WRONG]),
]

export const label: NameCheck = (name) => [
  ...(name.length > 63 ? ['must be no more than 63 characters'] : []),
  ...(LABEL.test(name) ? [] : [SUBDOMAIN.test(name) ? 'must not contain dots' : LABEL_WRONG]),
]

/** RBAC objects may have any name that is valid in a path. */
export const pathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`]
  return ['/', '%'].filter((banned) => name.includes(banned)).map((banned) => `may not contain '${banned}'`)
}

/** Checks `name` or `dns.prefix/name`, for keys of labels and annotations, finalizers and resource names. */
export const qualifiedName: NameCheck = (value) => {
  const [first = '', second, ...more] = value.split('/')
  if (more.length > 0) {
    return [
      `a valid label key ${NAME_PART_WRONG} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const prefix = second === undefined ? undefined : first
  const name = second ?? first
  const errors: string[] = []
  if (prefix === '') errors.push('prefix part must be non-empty')
  else if (prefix !== undefined) errors.push(...subdomain(prefix).map((each) => `prefix part ${each}`))
  if (name === '') errors.push('name part must be non-empty')
  else if (name.length > 63) errors.push('name part must be no more than 63 bytes')
  if (!NAME_PART.test(name)) errors.push(`name part ${NAME_PART_WRONG}`)
  return errors
}

export const labelValue: NameCheck = (value) => [
  ...(value.length > 63 ? ['must be no more than 63 bytes'] : []),
  ...(value === '' || NAME_PART.test(value) ? [] : [LABEL_VALUE_WRONG]),
]

const LABEL_VALUE_WRONG =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
  "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

const KEY = /^[-._a-zA-Z0-9]+$/

export const configMapKey: NameCheck = (key) => {
  if (key.length > 253) return ['must be no more than 253 characters']
  if (key === '.' || key === '..') return [`must not be '${key}'`]
  if (key.startsWith('..')) return ["must not start with '..'"]
  return KEY.test(key) ? [] : [KEY_WRONG]
}

const KEY_WRONG =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or " +
  "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

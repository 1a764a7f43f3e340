import { goQuote } from '@csi-sidecars/telemetry'

export interface SecretRef {
  readonly namespace: string
  readonly name: string
}

/** Where a class names a Secret by templates, and which token these may contain. */
export interface SecretTemplate {
  /** The keys of the class parameters, without `name` and `namespace`: `csi.storage.k8s.io/snapshotter-list-secret-`. */
  readonly prefix: string
  /** The words for errors: `SnapshotterList`. */
  readonly called: string
  readonly token: string
  readonly value: string
}

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const LONGEST_SUBDOMAIN = 253

/** The Secret that a class names; undefined if it names none. Throws the error of the Go original. */
export function secretRefOf(
  parameters: Readonly<Record<string, string>>,
  template: SecretTemplate,
): SecretRef | undefined {
  const name = parameters[`${template.prefix}name`]
  const namespace = parameters[`${template.prefix}namespace`]
  if (name === undefined && namespace === undefined) return undefined
  const failed = 'failed to get name and namespace template from params'
  if (name === undefined || namespace === undefined) {
    throw new Error(
      `${failed}: either name and namespace for ${template.called} secrets specified, Both must be specified`,
    )
  }
  if (name === '' || namespace === '') {
    const what = 'secrets specified in parameters but value of either namespace or name is empty'
    throw new Error(`${failed}: ${template.called} ${what}`)
  }
  return {
    namespace: resolved(namespace, template, { what: 'namespace', isValid: (text) => LABEL.test(text) }),
    name: resolved(name, template, { what: 'secret', isValid: isSubdomain }),
  }
}

function isSubdomain(text: string): boolean {
  return text.length <= LONGEST_SUBDOMAIN && SUBDOMAIN.test(text)
}

interface Rule {
  readonly what: string
  readonly isValid: (text: string) => boolean
}

function resolved(text: string, { token, value }: SecretTemplate, { what, isValid }: Rule): string {
  const unknown = new Set<string>()
  const result = expand(text, (name) => {
    if (name === token) return value
    unknown.add(name)
    return ''
  })
  if (unknown.size > 0) {
    const names = [...unknown].sort().map(goQuote).join(' ')
    throw new Error(`error resolving value ${goQuote(text)}: invalid tokens: [${names}]`)
  }
  if (isValid(result)) return result
  const subject = result === text ? goQuote(text) : `${goQuote(text)} resolved to ${goQuote(result)} which`
  throw new Error(`${subject} is not a valid ${what} name`)
}

/** Go's os.Expand: `${name}`, `$name` and the special variables of a shell. An unclosed `${` and `${}` disappear. */
function expand(text: string, replace: (name: string) => string): string {
  return text.replace(/\$(?:\{[^}]*\}|\{|[*#$@!?\-0-9]|\w+)/g, (token) => {
    const name = token.replace(/^\$\{?|\}$/g, '')
    return name === '' ? '' : replace(name)
  })
}

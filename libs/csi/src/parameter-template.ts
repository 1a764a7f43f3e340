import { goQuote } from '@csi-sidecars/telemetry'

/**
 * Returns the value of a variable such as `pvc.labels['team']`. Undefined: the object has no such value. Throws
 * UnknownVariableError for a variable that templates do not have.
 */
export type VariableReader = (name: string) => string | undefined

/** The values of variables by their texts, such as `pvc.labels['team']|max(63)`. Null: there was no value. */
export type VariableValues = Readonly<Record<string, string | null>>

/** The parameters without templates, and the values to record for the next try. */
export interface ExpandedParameters {
  readonly parameters: Record<string, string>
  /** The values of all variables, shortened by `|max(...)`. Null in place of a default. */
  readonly values: VariableValues
}

/** The sources of the values of template variables. An earlier value wins. */
export interface VariableSources {
  readonly read: VariableReader
  /** The values of an earlier expansion, which replace the current values. They must pass the rule for values, too. */
  readonly earlier?: VariableValues | undefined
}

export class UnknownVariableError extends Error {
  override readonly name = 'UnknownVariableError'
}

/** A variable in a template: `${name}`, `${name|max(63)}`, then `:-default` or `:?text`. `$${` stands for `${`. */
const VARIABLE_PATTERN = /\$(?:(\$\{)|\{([^}]*)\})/g
/** The parts of a variable. A quoted key may contain any character but a quote. */
const VARIABLE_PARTS = /^([A-Za-z]+\.[A-Za-z]+(?:\['[^']*'\])?)(?:\|max\((\d{1,4})\))?(?::([-?])(.*))?$/s

/** The maximum number of characters of a value. */
const MAX_LENGTH = 256
/**
 * The characters of a value: letters, marks and digits of any alphabet, spaces, and a few signs. Signs that separate
 * options in parameters of drivers are not allowed, so that a user cannot add options.
 */
const ALLOWED_CHARACTERS = /^[\p{L}\p{M}\p{N} _.:+@-]*$/u

/** Reports whether the text has a variable, so that it is no constant. */
export function isTemplate(text: string): boolean {
  return /\$\$?\{/.test(text)
}

/** Returns the variables that read labels or annotations, because users can change their values. */
export function labelAndAnnotationVariables(parameters: Readonly<Record<string, string>>): readonly string[] {
  const found = Object.values(parameters).flatMap((text) => [...text.matchAll(VARIABLE_PATTERN)])
  return found.map(([, , inner = '']) => inner).filter(isLabelOrAnnotation)
}

/** Reports whether the variable reads a label or an annotation, which users can change. Names never change. */
export function isLabelOrAnnotation(variable: string): boolean {
  return variable.includes('[')
}

/**
 * Replaces the variables in the values of parameters. Throws one error that names the parameter: an unknown variable, a
 * missing value without a default, or a value that the rule refuses. The text of a value is never read as a template.
 */
export function expandParameters(
  parameters: Readonly<Record<string, string>>,
  sources: VariableSources,
): ExpandedParameters {
  const values: Record<string, string | null> = {}
  const expanded = Object.entries(parameters).map(([key, text]) => {
    const variable = (inner: string): string => {
      const found = resolveVariable(key, inner, sources)
      values[inner] = found.value
      return found.text
    }
    const replaced = text.replaceAll(VARIABLE_PATTERN, (_, escaped: string | undefined, inner: string | undefined) =>
      escaped === undefined ? variable(inner ?? '') : escaped,
    )
    return [key, replaced] as const
  })
  return { parameters: Object.fromEntries(expanded), values }
}

interface VariableValue {
  /** The value, shortened by `|max(...)`. Null: there is none, so the default applies. */
  readonly value: string | null
  readonly text: string
}

function resolveVariable(key: string, inner: string, { read, earlier }: VariableSources): VariableValue {
  const [, name, max, fallbackKind, fallback = ''] = VARIABLE_PARTS.exec(inner) ?? []
  const fail = (why: string): never => {
    throw new Error(`parameter ${goQuote(key)} has the template ${goQuote(`\${${inner}}`)}: ${why}`)
  }
  if (name === undefined) return fail('it is no variable')
  let value: string | undefined
  try {
    value = read(name)
  } catch (error) {
    if (!(error instanceof UnknownVariableError)) throw error
    return fail(`there is no variable ${name}`)
  }
  if (earlier !== undefined && Object.hasOwn(earlier, inner)) value = earlier[inner] ?? undefined
  // As in a shell, an empty value counts as a missing value.
  if (value === undefined || value === '') {
    if (fallbackKind === '-') return { value: null, text: fallback }
    if (fallbackKind === '?') throw new Error(fallback)
    return fail('there is no such value, and the template has no default')
  }
  const kept = max === undefined ? value : truncate(value, Number(max))
  const why = whyNotAllowed(kept)
  return why === undefined ? { value: kept, text: kept } : fail(why)
}

/** Returns the first characters of a text. A character outside the basic plane counts once. */
function truncate(value: string, max: number): string {
  // Twice as many UTF-16 units contain that many characters at least.
  return Array.from(value.slice(0, 2 * max))
    .slice(0, max)
    .join('')
}

/** Returns why a value is refused, without the value: it may be long or contain anything. */
function whyNotAllowed(value: string): string | undefined {
  if (value.length > MAX_LENGTH) return `the value is longer than ${MAX_LENGTH} characters; |max(63) would cut it`
  if (!value.isWellFormed() || !ALLOWED_CHARACTERS.test(value)) {
    return 'the value has a character other than letters, digits, spaces and _ . : + @ -'
  }
  // A value that is a part of a path must not lead to another folder.
  return /^\.+$/.test(value) ? 'the value consists of dots' : undefined
}

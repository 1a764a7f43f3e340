import type { FieldErrors } from '../http/field-errors.ts'
import { at, isList, type Json } from '../schema/json.ts'
import type { NameCheck } from './names.ts'

/** Says what is wrong with the value of a field, if it is. A field that is absent has no value. */
export type FieldRule = (errors: FieldErrors, path: string, value: Json | undefined) => void

/** Applies the rules of the fields of an object, in the order of the real server. */
export function fields(rules: Readonly<Record<string, FieldRule>>): FieldRule {
  return (errors, path, value) => {
    for (const [name, rule] of Object.entries(rules)) {
      rule(errors, path === '' ? name : `${path}.${name}`, at(value, name))
    }
  }
}

/**
 * Applies one rule to the items of a list. The rule is created for each list, so that it can remember earlier items.
 */
export function items(ruleOf: () => FieldRule): FieldRule {
  return (errors, path, value) => {
    const rule = ruleOf()
    if (isList(value)) value.forEach((item, index) => void rule(errors, `${path}[${index}]`, item))
  }
}

/** Applies one rule to the values of a list, and reports errors under the path of the list. */
export function values(rule: FieldRule): FieldRule {
  return (errors, path, value) => {
    for (const each of isList(value) ? value : []) rule(errors, path, each)
  }
}

export function all(...rules: readonly FieldRule[]): FieldRule {
  return (errors, path, value) => {
    for (const rule of rules) rule(errors, path, value)
  }
}

/** Applies a rule only if the field is present. */
export function given(rule: FieldRule): FieldRule {
  return (errors, path, value) => (value === undefined ? undefined : rule(errors, path, value))
}

/** The rule of a text that may be empty. */
export function unlessEmpty(rule: FieldRule): FieldRule {
  return (errors, path, value) => ((value ?? '') === '' ? undefined : rule(errors, path, value))
}

export const needed: FieldRule = (errors, path, value) => void errors.needed(path, value)

export function checked(rule: NameCheck): FieldRule {
  return (errors, path, value) => errors.checked(path, String(value ?? ''), rule)
}

/** A name that must be there. */
export function named(rule: NameCheck): FieldRule {
  return all(needed, unlessEmpty(checked(rule)))
}

export function oneOf(...choices: readonly string[]): FieldRule {
  return (errors, path, value) => errors.oneOf(path, value ?? '', choices)
}

export function notBelow(least: number, why: string): FieldRule {
  return (errors, path, value) => {
    if (typeof value === 'number' && value < least) errors.invalid(path, value, why)
  }
}

/** A text that no other has; it is made for all of them. */
export function unique(): FieldRule {
  const seen = new Set<string>()
  return (errors, path, value) => errors.unique(path, String(value ?? ''), seen)
}

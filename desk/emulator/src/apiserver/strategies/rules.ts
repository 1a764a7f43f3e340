import type { FieldErrors } from '../http/field-errors.ts'
import { at, isList, type Json } from '../schema/json.ts'
import type { NameCheck } from './names.ts'

/** A check that reports the errors in the value of one field. The value of an absent field is undefined. */
export type FieldRule = (errors: FieldErrors, path: string, value: Json | undefined) => void

/** Applies one rule to each field of an object, in the order of kube-apiserver. */
export function fields(rules: Readonly<Record<string, FieldRule>>): FieldRule {
  return (errors, path, value) => {
    for (const [name, rule] of Object.entries(rules)) {
      rule(errors, path === '' ? name : `${path}.${name}`, at(value, name))
    }
  }
}

/** Applies a rule to each item of a list. A rule may remember items, so `ruleOf` creates a rule for each list. */
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
export function ifPresent(rule: FieldRule): FieldRule {
  return (errors, path, value) => (value === undefined ? undefined : rule(errors, path, value))
}

/** Applies a rule only if the text is present and not empty. */
export function unlessEmpty(rule: FieldRule): FieldRule {
  return (errors, path, value) => ((value ?? '') === '' ? undefined : rule(errors, path, value))
}

export const needed: FieldRule = (errors, path, value) => void errors.needed(path, value)

export function checked(rule: NameCheck): FieldRule {
  return (errors, path, value) => errors.checked(path, String(value ?? ''), rule)
}

/** Requires a name, and applies a rule to it. */
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

/** Returns a rule that reports duplicate texts. */
export function unique(): FieldRule {
  const seen = new Set<string>()
  return (errors, path, value) => errors.unique(path, String(value ?? ''), seen)
}

import { isObject, type Json, sameJson } from '../schema/json.ts'
import type { FieldCause } from './api-failure.ts'

/** Collects the errors of an object, with the messages of kube-apiserver. */
export class FieldErrors {
  readonly #causes: FieldCause[] = []

  get causes(): readonly FieldCause[] {
    return this.#causes
  }

  get none(): boolean {
    return this.#causes.length === 0
  }

  required(field: string, why = ''): void {
    this.#add(field, 'FieldValueRequired', why === '' ? 'Required value' : `Required value: ${why}`)
  }

  invalid(field: string, value: Json | undefined, why: string): void {
    this.#add(field, 'FieldValueInvalid', `Invalid value: ${quoted(value)}: ${why}`)
  }

  /** Reports that a value breaks a rule of a CRD. The message contains the value only if it is a text. */
  broken(field: string, value: Json | undefined, why: string): void {
    if (typeof value === 'string') this.invalid(field, value, why)
    else this.#add(field, 'FieldValueInvalid', `Invalid value: ${why}`)
  }

  forbidden(field: string, why: string): void {
    this.#add(field, 'FieldValueForbidden', `Forbidden: ${why}`)
  }

  unsupported(field: string, value: Json | undefined, supported: readonly string[]): void {
    const choices = supported.map((each) => JSON.stringify(each)).join(', ')
    this.#add(field, 'FieldValueNotSupported', `Unsupported value: ${quoted(value)}: supported values: ${choices}`)
  }

  notFound(field: string, value: Json): void {
    this.#add(field, 'FieldValueNotFound', `Not found: ${quoted(value)}`)
  }

  tooLong(field: string, limitBytes: number): void {
    this.#add(field, 'FieldValueTooLong', `Too long: may not be more than ${limitBytes} bytes`)
  }

  /** Reports an error if a required text is empty or absent. Returns whether the text is present. */
  needed(field: string, value: Json | undefined): boolean {
    const isThere = (value ?? '') !== ''
    if (!isThere) this.required(field)
    return isThere
  }

  /** Reports a value that is not among the choices. An absent value is allowed. */
  oneOf(field: string, value: Json | undefined, choices: readonly string[]): void {
    if (value !== undefined && !choices.includes(String(value))) this.unsupported(field, value, choices)
  }

  notBelow(field: string, value: Json | undefined, [least, why]: readonly [least: number, why: string]): void {
    if (typeof value === 'number' && value < least) this.invalid(field, value, why)
  }

  unchanged(field: string, value: Json | undefined, before: Json | undefined): void {
    if (!sameJson(value, before)) this.invalid(field, value, 'field is immutable')
  }

  /** Reports a duplicate: a value that `seen` already contains. Adds the value to `seen`. */
  unique(field: string, value: string, seen: Set<string>): void {
    if (seen.has(value)) this.#add(field, 'FieldValueDuplicate', `Duplicate value: ${quoted(value)}`)
    seen.add(value)
  }

  /** Reports a map whose keys and values have more bytes than the limit. */
  atMost(field: string, map: Json | undefined, limitBytes: number): void {
    const texts = Object.entries(isObject(map) ? map : {}).flat()
    const bytes = texts.reduce((sum: number, text) => sum + Buffer.byteLength(String(text)), 0)
    if (bytes > limitBytes) this.tooLong(field, limitBytes)
  }

  /** Reports each error message that `rule` returns for the value. */
  checked(field: string, value: string, rule: (value: string) => readonly string[]): void {
    for (const each of rule(value)) this.invalid(field, value, each)
  }

  #add(field: string, reason: string, message: string): void {
    this.#causes.push({ reason, message, field })
  }
}

/** Returns a value as error messages show it: `null` if it is absent, a map with sorted keys. */
function quoted(value: Json | undefined): string {
  if (value === undefined) return 'null'
  if (!isObject(value)) return JSON.stringify(value)
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))))
}

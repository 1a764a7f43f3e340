import { isObject, type Json, sameJson } from '../schema/json.ts'
import type { FieldCause } from './api-failure.ts'

/** Gathers what is wrong with an object, in the words in which the real server says it. */
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

  /** A rule of a CRD that does not hold. Its message shows texts only, never lists or objects. */
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

  /** A text that must be there. Whether it is. */
  needed(field: string, value: Json | undefined): boolean {
    const isThere = (value ?? '') !== ''
    if (!isThere) this.required(field)
    return isThere
  }

  /** A value that may be absent. */
  oneOf(field: string, value: Json | undefined, choices: readonly string[]): void {
    if (value !== undefined && !choices.includes(String(value))) this.unsupported(field, value, choices)
  }

  notBelow(field: string, value: Json | undefined, [least, why]: readonly [least: number, why: string]): void {
    if (typeof value === 'number' && value < least) this.invalid(field, value, why)
  }

  unchanged(field: string, value: Json | undefined, before: Json | undefined): void {
    if (!sameJson(value, before)) this.invalid(field, value, 'field is immutable')
  }

  /** Reports a value that was seen before, and adds it to the seen values. */
  unique(field: string, value: string, seen: Set<string>): void {
    if (seen.has(value)) this.#add(field, 'FieldValueDuplicate', `Duplicate value: ${quoted(value)}`)
    seen.add(value)
  }

  /** A map whose keys and values have so many bytes at most. */
  atMost(field: string, map: Json | undefined, limitBytes: number): void {
    const texts = Object.entries(isObject(map) ? map : {}).flat()
    const bytes = texts.reduce((sum: number, text) => sum + Buffer.byteLength(String(text)), 0)
    if (bytes > limitBytes) this.tooLong(field, limitBytes)
  }

  /** Lists each of the texts in which a rule says what is wrong with a value. */
  checked(field: string, value: string, rule: (value: string) => readonly string[]): void {
    for (const each of rule(value)) this.invalid(field, value, each)
  }

  #add(field: string, reason: string, message: string): void {
    this.#causes.push({ reason, message, field })
  }
}

/** A value as messages show it: absent as null, a map as JSON with its keys in order. */
function quoted(value: Json | undefined): string {
  if (value === undefined) return 'null'
  if (!isObject(value)) return JSON.stringify(value)
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))))
}

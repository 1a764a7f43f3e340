import { Quantity } from '@csi-sidecars/kube-types'
import { ACTION_NAMES, type ActionName, type Field, formOf } from '../view/action-table.ts'

/** One action that the page has requested, after the check of its fields. */
export interface PageAction {
  readonly name: ActionName
  /** The value of each field. An optional field without a value has an empty text. */
  readonly values: Readonly<Record<string, string>>
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const KEY = /^([a-z0-9][-a-z0-9]{0,62}\/)?[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const MAX_NUMBER = 1000

/** An invalid value of a form field. The message is a sentence for the user. */
export class FieldError extends Error {
  override readonly name = 'FieldError'
  readonly field: string

  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** Parses a request of the page. An invalid request throws an error with a sentence for the user. */
export function parseAction(body: unknown): PageAction {
  const { action, values } = recordOf(body)
  const name = ACTION_NAMES.find((each) => each === action)
  if (name === undefined) throw new Error('There is no such action.')
  const entries = recordOf(values)
  const { fields } = formOf(name)
  const extra = Object.keys(entries).find((key) => !fields.some((field) => field.name === key))
  if (extra !== undefined) throw new Error(`"${extra}" is not a field of this form.`)
  return { name, values: Object.fromEntries(fields.map((field) => [field.name, checked(field, entries[field.name])])) }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function checked(field: Field, value: unknown = ''): string {
  const { name, label, optional } = field
  if (typeof value !== 'string') throw new FieldError(name, `${label} must be a text.`)
  const text = value.trim()
  if (text === '' && optional !== undefined) return ''
  const wrong = whatIsWrong(field, text)
  if (wrong !== undefined) throw new FieldError(name, `${label} ${wrong}.`)
  return text
}

function whatIsWrong({ kind, choices = [] }: Field, text: string): string | undefined {
  if (text === '') return 'must be given'
  switch (kind) {
    case 'name':
    case 'class':
    case 'node':
      return NAME.test(text) ? undefined : 'must be a name of lower-case letters, digits, "-" and "."'
    case 'claim':
    case 'pod':
      return KEY.test(text) ? undefined : 'must be a name, or a namespace and a name as default/data'
    case 'size':
      return Quantity.tryParse(text) === undefined ? 'must be a size such as 1Gi or 500M' : undefined
    case 'seconds':
    case 'number':
      return /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_NUMBER
        ? undefined
        : `must be a whole number from 1 to ${MAX_NUMBER}`
    case 'choice':
      return choices.includes(text) ? undefined : `must be one of: ${choices.join(', ')}`
  }
}

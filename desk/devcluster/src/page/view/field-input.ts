import type { Field, FieldKind } from './action-table.ts'
import { fill, make, setText } from './dom.ts'

/** The values to choose from, for each kind of field. */
export type KnownValues = Readonly<Partial<Record<FieldKind, readonly string[]>>>

/** The maximum number of values in a list to choose from. */
const MAX_VALUES = 200

/** One field of a form: its label, its input and its error. */
export class FieldInput {
  readonly element: HTMLElement
  readonly #field: Field
  readonly #input: HTMLInputElement | HTMLSelectElement
  readonly #error: HTMLElement
  #offered: string | undefined

  constructor(field: Field, form: string) {
    const id = `${form}-${field.name}`
    this.#field = field
    this.#input = isChosen(field.kind) ? make('select') : textInput(field)
    this.#input.id = id
    this.#input.name = field.name
    this.#input.required = field.optional === undefined
    this.#input.addEventListener('input', () => this.clear())
    const label = make('label', {}, field.label)
    label.htmlFor = id
    this.#error = make('p', { class: 'bad' })
    this.#error.id = `${id}-error`
    this.#error.hidden = true
    this.element = make('div', { class: 'field' }, label, this.#input, this.#error)
    this.offer({})
  }

  get name(): string {
    return this.#field.name
  }

  get value(): string {
    return this.#input.value
  }

  /** Shows the error, and moves the focus to the field. */
  refuse(text: string): void {
    this.#input.setAttribute('aria-invalid', 'true')
    this.#input.setAttribute('aria-describedby', this.#error.id)
    setText(this.#error, text)
    this.#error.hidden = false
    this.#input.focus()
  }

  clear(): void {
    this.#input.removeAttribute('aria-invalid')
    this.#input.removeAttribute('aria-describedby')
    this.#error.hidden = true
  }

  /** Updates the list of values. The chosen value stays chosen if it is still in the list. */
  offer(existing: KnownValues): void {
    if (!(this.#input instanceof HTMLSelectElement)) return
    const { kind, choices, optional, value = '' } = this.#field
    const values = choices ?? [...new Set([...(kind === 'class' ? [value] : []), ...(existing[kind] ?? [])])]
    const offered = values.slice(0, MAX_VALUES)
    if (this.#offered === offered.join('\n')) return
    const before = this.#offered === undefined ? value : this.#input.value
    this.#offered = offered.join('\n')
    const noChoice = offered.length === 0 ? `no ${kind} yet` : undefined
    const emptyLabel = optional || noChoice
    const none = emptyLabel === undefined ? undefined : optionOf('', emptyLabel)
    fill(this.#input, none, ...offered.map((each) => optionOf(each)))
    if (offered.includes(before) || (optional && before === '')) this.#input.value = before
  }
}

function isChosen(kind: FieldKind): boolean {
  return kind === 'choice' || kind === 'claim' || kind === 'pod' || kind === 'node' || kind === 'class'
}

function optionOf(value: string, text = value): HTMLOptionElement {
  const option = make('option', {}, text)
  option.value = value
  return option
}

function textInput({ kind, value = '' }: Field): HTMLInputElement {
  const input = make('input')
  input.value = value
  input.autocomplete = 'off'
  input.spellcheck = false
  if (kind === 'number' || kind === 'seconds') {
    input.type = 'number'
    input.min = '1'
    input.max = '1000'
  }
  return input
}

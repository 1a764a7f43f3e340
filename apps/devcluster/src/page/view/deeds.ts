import { DEED_NAMES, type DeedName, type Field, formOf } from './deed-table.ts'
import { byId, fill, make, setText } from './dom.ts'
import type { Player } from './player.ts'
import type { Item } from './wire.ts'

/** The forms: what a person can do to the cluster, and to its driver. */
export class Deeds {
  readonly #player: Player
  readonly #forms = byId('forms')
  #shown = ''

  constructor(player: Player) {
    this.#player = player
  }

  draw(changed: ReadonlySet<string>): void {
    const { items } = this.#player
    if (changed.has('abilities')) this.#show(items.get('abilities'))
    if (byId('deeds').matches(':focus-within')) this.suggest()
  }

  /** What there is to choose from, when somebody is about to choose. */
  readonly suggest = (): void => {
    const { items } = this.#player
    const all = [...items.values()]
    const rows = all.filter((item) => item.is === 'row')
    const abilities = items.get('abilities')
    suggestions(
      'claims',
      rows.flatMap(({ claim }) => (claim ? [short(claim.key)] : [])),
    )
    suggestions('pods', [...new Set(rows.flatMap(({ pods }) => pods.map(({ key }) => short(key))))])
    suggestions(
      'nodes',
      all.filter((item) => item.is === 'node').map(({ name }) => name),
    )
    suggestions('classes', abilities?.is === 'abilities' ? abilities.classes : [])
  }

  readonly send = async (deed: string, values: Readonly<Record<string, string>>): Promise<void> => {
    const answer = byId('answer')
    setText(answer, 'asked …')
    answer.className = ''
    try {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch('/deeds', { method: 'POST', headers, body: JSON.stringify({ deed, values }) })
      const { done, text } = (await response.json()) as { done: boolean; text: string }
      setText(answer, text)
      answer.className = done ? '' : 'bad'
    } catch {
      setText(answer, 'The cluster does not answer.')
      answer.className = 'bad'
    }
  }

  #show(abilities: Item | undefined): void {
    const can = abilities?.is === 'abilities' ? DEED_NAMES.filter((name) => abilities.deeds.includes(name)) : []
    const forms = can.filter((name) => formOf(name).hidden !== true)
    byId('deeds').hidden = forms.length === 0
    if (this.#shown === forms.join()) return
    this.#shown = forms.join()
    fill(this.#forms, ...forms.map((name) => this.#form(name)))
  }

  #form(name: DeedName): HTMLElement {
    const { title, button, fields } = formOf(name)
    const form = make('form', { 'data-deed': name })
    const inputs = fields.map((field) => [field, inputOf(field)] as const)
    const labels = inputs.map(([{ label }, input]) => make('label', {}, label, input))
    const submit = make('button', {}, button)
    fill(form, ...labels, submit)
    form.addEventListener('focusin', this.suggest)
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.send(name, Object.fromEntries(inputs.map(([field, { value }]) => [field.name, value])))
    })
    const details = make('details', { class: 'deed' }, make('summary', {}, title), form)
    // One is open at a time.
    details.name = 'deed'
    details.open = name === 'makeClaim'
    return details
  }
}

const LISTS: Partial<Record<Field['kind'], string>> = { claim: 'claims', pod: 'pods', node: 'nodes', class: 'classes' }

function inputOf({ name, kind, value = '', optional, choices = [] }: Field): HTMLInputElement | HTMLSelectElement {
  if (kind === 'choice') {
    const select = make('select', {}, ...choices.map((choice) => make('option', {}, choice)))
    select.name = name
    select.value = value
    return select
  }
  const input = make('input')
  input.name = name
  input.value = value
  input.required = optional !== true
  input.autocomplete = 'off'
  input.spellcheck = false
  if (kind === 'number' || kind === 'seconds') {
    input.type = 'number'
    input.min = '1'
    input.max = '1000'
  }
  const list = LISTS[kind]
  if (list !== undefined) input.setAttribute('list', list)
  return input
}

function suggestions(id: string, values: readonly string[]): void {
  const options = values.slice(0, 100).map((value) => {
    const option = make('option')
    option.value = value
    return option
  })
  fill(byId(id), ...options)
}

/** Of the namespace that everybody uses the name is enough. */
function short(key: string): string {
  return key.replace(/^default\//, '')
}

import { ACTION_NAMES, type ActionName, type Field, formOf } from './action-table.ts'
import { byId, fill, make, setText } from './dom.ts'
import type { Player } from './player.ts'
import type { Item } from './wire.ts'

/** The forms: what a person can do to the cluster, and to its driver. */
export class ActionForms {
  readonly #player: Player
  readonly #forms = byId('forms')
  #shown = ''

  constructor(player: Player) {
    this.#player = player
  }

  draw(changed: ReadonlySet<string>): void {
    const { items } = this.#player
    if (changed.has('abilities')) this.#show(items.get('abilities'))
    if (byId('action-forms').matches(':focus-within')) this.suggest()
  }

  /** The values to choose from, when a person is about to choose. */
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

  readonly send = async (action: string, values: Readonly<Record<string, string>>): Promise<void> => {
    const answer = byId('answer')
    setText(answer, 'asked …')
    answer.className = ''
    try {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch('/actions', { method: 'POST', headers, body: JSON.stringify({ action, values }) })
      const { done, text } = (await response.json()) as { done: boolean; text: string }
      setText(answer, text)
      answer.className = done ? '' : 'bad'
    } catch {
      setText(answer, 'The cluster does not answer.')
      answer.className = 'bad'
    }
  }

  #show(abilities: Item | undefined): void {
    const can = abilities?.is === 'abilities' ? ACTION_NAMES.filter((name) => abilities.actions.includes(name)) : []
    const forms = can.filter((name) => formOf(name).hidden !== true)
    byId('action-forms').hidden = forms.length === 0
    if (this.#shown === forms.join()) return
    this.#shown = forms.join()
    fill(this.#forms, ...forms.map((name) => this.#form(name)))
  }

  #form(name: ActionName): HTMLElement {
    const { title, button, fields } = formOf(name)
    const form = make('form', { 'data-action': name })
    const inputs = fields.map((field) => [field, inputOf(field)] as const)
    const labels = inputs.map(([{ label }, input]) => make('label', {}, label, input))
    const submit = make('button', {}, button)
    fill(form, ...labels, submit)
    form.addEventListener('focusin', this.suggest)
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.send(name, Object.fromEntries(inputs.map(([field, { value }]) => [field.name, value])))
    })
    const details = make('details', { class: 'action' }, make('summary', {}, title), form)
    // One is open at a time.
    details.name = 'action'
    details.open = name === 'createClaim'
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

/** In the default namespace the name is enough. */
function short(key: string): string {
  return key.replace(/^default\//, '')
}

import { ACTION_NAMES, type ActionName, formOf } from './action-table.ts'
import { byId, fill, make, setText } from './dom.ts'
import { FieldInput, type KnownValues } from './field-input.ts'
import { short } from './picture.ts'
import type { Player } from './player.ts'
import type { ActionAnswer, Item } from './wire.ts'

type Values = Readonly<Record<string, string>>

/** The forms for actions on the cluster and on its driver. */
export class ActionForms {
  readonly #player: Player
  readonly #forms = byId('forms')
  #inputs: readonly FieldInput[] = []
  #shownForm = ''

  constructor(player: Player) {
    this.#player = player
  }

  draw(changed: ReadonlySet<string>): void {
    if (changed.size === 0) return
    const { items } = this.#player
    if (changed.has('abilities')) this.#show(items.get('abilities'))
    if (this.#inputs.length === 0) return
    const existing = knownValues(items)
    for (const input of this.#inputs) input.offer(existing)
  }

  readonly send = async (action: string, values: Values): Promise<ActionAnswer> => {
    const line = byId('answer')
    setText(line, 'asked …')
    line.className = ''
    const answer = await ask(action, values)
    setText(line, answer.text)
    line.className = answer.done ? '' : 'bad'
    return answer
  }

  #show(abilities: Item | undefined): void {
    const can = abilities?.kind === 'abilities' ? ACTION_NAMES.filter((name) => abilities.actions.includes(name)) : []
    const names = can.filter((name) => formOf(name).hidden !== true)
    byId('action-forms').hidden = names.length === 0
    if (this.#shownForm === names.join()) return
    this.#shownForm = names.join()
    const forms = names.map((name) => this.#form(name))
    this.#inputs = forms.flatMap(({ inputs }) => inputs)
    fill(this.#forms, ...forms.map(({ element }) => element))
  }

  #form(name: ActionName): { readonly element: HTMLElement; readonly inputs: readonly FieldInput[] } {
    const { title, button, fields } = formOf(name)
    const form = make('form', { 'data-action': name })
    // The browser must not check the fields: the server does, and its message is shown next to the field.
    form.noValidate = true
    const inputs = fields.map((field) => new FieldInput(field, name))
    fill(form, ...inputs.map(({ element }) => element), make('button', {}, button))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      for (const input of inputs) input.clear()
      void this.send(name, Object.fromEntries(inputs.map((input) => [input.name, input.value]))).then(
        ({ field, text }) => inputs.find((input) => input.name === field)?.refuse(text),
      )
    })
    const details = make('details', { class: 'action' }, make('summary', {}, title), form)
    // The browser keeps only one of the elements with this name open.
    details.name = 'action'
    details.open = name === 'createClaim'
    return { element: details, inputs }
  }
}

async function ask(action: string, values: Values): Promise<ActionAnswer> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch('/actions', { method: 'POST', headers, body: JSON.stringify({ action, values }) })
    return (await response.json()) as ActionAnswer
  } catch {
    return { done: false, text: 'The cluster does not answer.' }
  }
}

function knownValues(items: ReadonlyMap<string, Item>): KnownValues {
  const all = [...items.values()]
  const rows = all.filter((item) => item.kind === 'row')
  const abilities = items.get('abilities')
  return {
    claim: rows.flatMap(({ claim }) => (claim ? [short(claim.key)] : [])),
    pod: [...new Set(rows.flatMap(({ pods }) => pods.map(({ key }) => short(key))))],
    node: all.filter((item) => item.kind === 'node').map(({ name }) => name),
    class: abilities?.kind === 'abilities' ? abilities.classes : [],
  }
}

import { clockTime, fill, make, setText } from './dom.ts'
import type { ClaimSize, LastCall, LastEvent, Level, Wait } from './wire.ts'

/** Elements that several areas of the page use: tags, bars, calls and events. */

export function tag(state: string, text = state, title?: string): HTMLElement {
  return make('span', { class: `tag ${state.replaceAll(' ', '-')}`, ...(title !== undefined && { title }) }, text)
}

const LEVELS: Readonly<Record<Level, string>> = { trouble: 'fails', waits: 'waits', works: 'works' }

/** Returns the element for one wait: its state, the waiting object, the acting component and the reason. */
export function waitText(wait: Wait, nameOf: (actor: string) => string): HTMLElement {
  const { stuck, object, who, why, message } = wait
  const level = stuck ? 'trouble' : wait.level
  return make(
    'div',
    { class: `wait ${level}` },
    tag(stuck ? 'stuck' : wait.level, stuck ? 'stuck' : LEVELS[wait.level]),
    ' ',
    make('strong', {}, object),
    ' · ',
    make('span', { class: 'who' }, nameOf(who)),
    `: ${why}`,
    message !== undefined && make('q', { class: 'message' }, message),
  )
}

/** Returns a bar. Its length is the desired size, and its filled part is the actual size. */
export function sizeBar(requested: ClaimSize, actual: ClaimSize): HTMLElement {
  const behind = actual.bytes < requested.bytes
  const text = behind ? `${actual.bytes === 0 ? '0' : actual.text} of ${requested.text}` : actual.text
  const filled = make('i')
  filled.style.width = `${requested.bytes > 0 ? Math.min(100, (actual.bytes / requested.bytes) * 100) : 0}%`
  const bar = make('span', { class: behind ? 'bar behind' : 'bar', 'aria-label': text }, filled)
  bar.setAttribute('role', 'img')
  return make('span', { class: 'size' }, bar, make('span', { 'aria-hidden': 'true' }, text))
}

/** The last CSI call with its request and its answer. Details that the user has opened stay open for later calls. */
export class CallDetails {
  readonly element = make('details', { class: 'call' })
  readonly #summary = make('summary')
  readonly #request = scrolling('Request')
  readonly #answer = scrolling('Answer')

  constructor() {
    const part = (title: string, body: HTMLElement) => make('div', {}, make('div', { class: 'part' }, title), body)
    fill(this.element, this.#summary, part('Request', this.#request), part('Answer', this.#answer))
    this.element.hidden = true
  }

  draw(call: LastCall | undefined): void {
    this.element.hidden = call === undefined
    if (call === undefined) return
    const { method, code, tookMs, at, message, request, response } = call
    const state = stateOf(code)
    const took = tookMs === undefined ? 'under way' : `${tookMs < 10 ? tookMs.toFixed(1) : Math.round(tookMs)} ms`
    fill(
      this.#summary,
      method,
      ' ',
      tag(state, code ?? 'under way'),
      ` ${clockTime(at)}${code === undefined ? '' : `, ${took}`}`,
    )
    setText(this.#request, request)
    setText(this.#answer, message ?? response ?? (code === undefined ? 'none yet' : '{}'))
  }
}

/** Returns a text that scrolls. It can be reached by keyboard and has a name for screen readers. */
function scrolling(title: string): HTMLPreElement {
  const text = make('pre', { 'aria-label': title })
  text.setAttribute('role', 'group')
  text.tabIndex = 0
  return text
}

export class PageEventText {
  readonly element = make('div', { class: 'event' })

  /** Shows the event. Its text is left out if it equals one of the texts in `known`, which are shown next to it. */
  draw(event: LastEvent | undefined, names: readonly (string | undefined)[] = []): void {
    this.element.hidden = event === undefined
    if (event === undefined) return
    const { line, reason, object, count } = event
    const text = names.includes(line.text) ? '' : ` ${line.text}`
    const often = count > 1 ? ` (${count} times)` : ''
    fill(
      this.element,
      make('span', { class: line.bad ? 'bad' : 'quiet' }, reason),
      `${text}${often} `,
      make('span', { class: 'quiet' }, `${object}, ${clockTime(line.at)}`),
    )
  }
}

function stateOf(code: string | undefined): 'works' | 'ok' | 'trouble' {
  if (code === undefined) return 'works'
  return code === 'OK' ? 'ok' : 'trouble'
}

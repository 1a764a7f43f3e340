import { byId, clockTime, fill, make, setText } from './dom.ts'
import { tag } from './parts.ts'
import type { Player } from './player.ts'

const TEXTS = {
  breaks: 'everything that can fail does',
  heals: 'nothing is broken any more: everything has to come right',
  held: 'all held',
  violated: 'something did not hold',
} as const

/** What is broken on purpose, as it happens. */
export function drawChaos({ items }: Player, changed: ReadonlySet<string>): void {
  if (!changed.has('chaos')) return
  const chaos = items.get('chaos')
  byId('chaos').hidden = chaos?.is !== 'chaos'
  if (chaos?.is !== 'chaos') return
  const { seed, actions, state, last, violations } = chaos
  fill(byId('chaos-title'), `Chaos, seed ${seed} `, tag(state, state))
  setText(byId('chaos-text'), `${actions} actions so far; ${TEXTS[state]}.`)
  fill(byId('violations'), ...violations.map((text) => make('li', { class: 'bad' }, text)))
  fill(
    byId('actions'),
    ...last.map(({ at, text }) => make('li', {}, make('span', { class: 'quiet' }, `${clockTime(at)} `), text)),
  )
}

import { ActionForms } from './action-forms.ts'
import { Actors } from './actors.ts'
import { ClusterPicture } from './cluster-picture.ts'
import { byId, counted, setText } from './dom.ts'
import { Player } from './player.ts'
import { StepList } from './step-list.ts'
import { Table } from './table.ts'
import { Timeline } from './timeline.ts'
import { Waiting } from './waiting.ts'
import type { Beginning, Frame } from './wire.ts'

/** Drawing takes at most a third of the time, so that a page with a thousand pods still responds to its user. */
const SHARE = 3
/** The time of two screen refreshes. If drawing takes longer, the page pauses before it draws again. */
const SLOW_MS = 34
const MAX_PAUSE_MS = 500
let isDue = false
let nextAt = 0

/** Lets the browser draw the changed items at the next screen refresh. */
function again(): void {
  if (isDue) return
  isDue = true
  requestAnimationFrame(wait)
}

function wait(now: number): void {
  if (now < nextAt) {
    requestAnimationFrame(wait)
    return
  }
  draw(now)
  // The browser calls this function after the drawing, so `next - now` is the time of the drawing.
  requestAnimationFrame((next) => {
    const took = next - now
    nextAt = took > SLOW_MS ? next + Math.min((SHARE - 1) * took, MAX_PAUSE_MS) : 0
  })
}

const player = new Player()
const actors = new Actors(player)
const { nameOf } = actors
const table = new Table(player, { nameOf, again })
const picture = new ClusterPicture(player)
const waiting = new Waiting(player, nameOf)
const timeline = new Timeline(player, { nameOf, again })
const actions = new ActionForms(player)
const story = new StepList(player, { send: (action, values) => void actions.send(action, values), again })

function draw(now: number): void {
  isDue = false
  player.tick(now)
  const changed = new Set(player.changed)
  player.changed.clear()
  actors.draw(changed)
  picture.draw(changed)
  table.draw(changed)
  if (changed.size > 0) waiting.draw()
  timeline.draw()
  story.draw(changed)
  actions.draw(changed)
  if (changed.size > 0) drawCounts()
  if (player.mode === 'replaying') again()
}

function drawCounts(): void {
  const counts = { row: 0, node: 0 }
  const states = new Map<string, number>()
  for (const item of player.items.values()) {
    if (item.kind !== 'row' && item.kind !== 'node') continue
    counts[item.kind] += 1
    if (item.kind === 'row') for (const { state } of item.places) states.set(state, (states.get(state) ?? 0) + 1)
  }
  const rest = [...states].map(([state, count]) => `${count} ${state}`)
  setText(byId('counts'), [counted(counts.node, 'node'), counted(counts.row, 'row'), ...rest].join(' · '))
}

function say(text: string, state: 'live' | 'lost'): void {
  setText(byId('link'), text)
  byId('link').className = state
}

const source = new EventSource('/frames')
source.addEventListener('open', () => say('connected', 'live'))
source.addEventListener('error', () => say('the cluster is gone; trying again', 'lost'))
source.addEventListener('beginning', ({ data }: MessageEvent<string>) => {
  player.begin(JSON.parse(data) as Beginning)
  again()
})
source.addEventListener('frames', ({ data }: MessageEvent<string>) => {
  player.add(JSON.parse(data) as Frame[])
  again()
})

import { byId, clockTime, Keyed, make, setText } from './dom.ts'
import type { Player } from './player.ts'
import type { Frame } from './wire.ts'

const MAX_LINES = 80

/** The list of past changes. A button at each change shows the page as it was at that time. */
export class Timeline {
  readonly #player: Player
  readonly #nameOf: (actor: string) => string
  readonly #list: Keyed<Frame, HTMLLIElement>
  readonly #range = byId<HTMLInputElement>('moment')
  readonly #stop = byId<HTMLButtonElement>('stop')

  constructor(player: Player, { nameOf, again }: { nameOf: (actor: string) => string; again: () => void }) {
    this.#player = player
    this.#nameOf = nameOf
    this.#list = new Keyed(byId('lines'), (frame) => this.#make(frame))
    const on = (id: string, act: () => void): void =>
      byId(id).addEventListener('click', () => {
        act()
        again()
      })
    on('stop', () => (player.mode === 'live' ? player.stop() : player.live()))
    on('back', () => {
      player.stop()
      player.stepBack()
    })
    on('forward', () => {
      player.stop()
      player.step()
    })
    on('replay', () =>
      player.mode === 'replaying' ? player.stop() : player.replay(player.at >= player.length ? 0 : player.at),
    )
    this.#range.addEventListener('input', () => {
      player.stop()
      player.seek(Number(this.#range.value))
      again()
    })
  }

  draw(): void {
    const { mode, at, length, time } = this.#player
    const lines = this.#player.lines(MAX_LINES)
    this.#list.show(lines.map(([number, frame]) => [String(number), frame]))
    this.#range.max = String(length)
    this.#range.value = String(at)
    const [newest] = lines
    const text = newest === undefined ? 'nothing has happened yet' : lineText(newest[1], this.#nameOf)
    this.#range.setAttribute('aria-valuetext', text)
    document.body.dataset['mode'] = mode
    setText(this.#stop, mode === 'live' ? 'Stop' : 'Back to now')
    setText(byId('replay'), mode === 'replaying' ? 'Pause' : 'Replay')
    const when = time === undefined ? '' : `${clockTime(time)} `
    setText(byId('moment-text'), mode === 'live' ? text : `${when}step ${at} of ${length}: ${text}`)
    setText(byId('mode'), { live: 'now', stopped: 'stopped in the past', replaying: 'replay of the past' }[mode])
  }

  #make(frame: Frame): HTMLLIElement {
    const time = make('time', { class: 'quiet' }, clockTime(frame.at))
    const who = make('span', { class: 'who' }, this.#nameOf(frame.line?.who ?? ''))
    const text = make('span', frame.line?.bad ? { class: 'bad' } : {}, frame.line?.text ?? '')
    return make('li', {}, time, ' ', who, ' ', text)
  }
}

function lineText({ line }: Frame, nameOf: (actor: string) => string): string {
  return line === undefined ? '' : `${nameOf(line.who)}: ${line.text}`
}

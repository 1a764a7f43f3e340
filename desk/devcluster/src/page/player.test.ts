import { describe, expect, it } from '@jest/globals'
import { Player } from './view/player.ts'
import type { ClusterNode, Frame } from './view/wire.ts'

const item = (id: string, ready = true): ClusterNode => ({ kind: 'node', id, name: id, ready, schedulable: true })
const frame = (at: number, text: string | undefined, ...ids: readonly string[]): Frame => ({
  at,
  ...(text !== undefined && { line: { who: 'you', text } }),
  items: ids.map((id) => item(id)),
})
const shownIds = (player: Player): string => [...player.items.keys()].join()
const texts = (player: Player): readonly (string | undefined)[] => player.lines(10).map(([, { line }]) => line?.text)

function withThree(): Player {
  const player = new Player()
  player.begin({ items: [item('a')], frames: [frame(1, 'one', 'b'), frame(2, undefined, 'c'), frame(3, 'three', 'd')] })
  return player
}

describe('Player', () => {
  it('the replay player contains the current items, and the IDs of the changed items', () => {
    const player = withThree()
    expect([shownIds(player), player.mode, player.at, player.length, player.time]).toEqual(['a,b,c,d', 'live', 3, 3, 3])
    expect([...player.changed].join()).toBe('a,b,c,d')
    player.changed.clear()
    player.add([{ at: 4, gone: ['a'] }])
    expect([shownIds(player), [...player.changed].join()]).toEqual(['b,c,d', 'a'])
  })

  it('a stopped replay player keeps showing the same moment while new changes arrive', () => {
    const player = withThree()
    player.stop()
    player.add([frame(4, 'four', 'e')])
    expect([shownIds(player), player.at, player.length]).toEqual(['a,b,c,d', 3, 4])
    player.live()
    expect(shownIds(player)).toBe('a,b,c,d,e')
  })

  it('the replay player steps only to changes that have a text line, back and forth', () => {
    const player = withThree()
    player.stepBack()
    expect([shownIds(player), texts(player)]).toEqual(['a,b', ['one']])
    player.stepBack()
    player.stepBack()
    expect([shownIds(player), texts(player)]).toEqual(['a', []])
    player.step()
    expect(shownIds(player)).toBe('a,b')
    player.step()
    expect([shownIds(player), texts(player)]).toEqual(['a,b,c,d', ['three', 'one']])
  })

  it('the replay player restores replaced and removed items when it steps back', () => {
    const player = new Player()
    player.begin({
      items: [item('a')],
      frames: [
        { at: 1, items: [item('a', false)] },
        { at: 2, gone: ['a'] },
      ],
    })
    expect(shownIds(player)).toBe('')
    player.stepBack()
    expect(player.items.get('a')).toMatchObject({ ready: true })
  })

  it('the replay player limits the pauses between changes, and then shows the present', () => {
    const player = withThree()
    player.add([frame(900_000, 'much later', 'e')])
    player.replay(0)
    const seen: [number, string][] = []
    for (let now = 0; now <= 5_000 && player.mode === 'replaying'; now += 50) {
      const before = player.at
      player.tick(now)
      if (player.at !== before) seen.push([now, texts(player)[0] ?? ''])
    }
    expect(seen).toEqual([
      [0, 'one'],
      [250, 'three'],
      [500, 'much later'],
    ])
    expect([player.mode, shownIds(player)]).toEqual(['live', 'a,b,c,d,e'])
  })

  it('the replay player finds the moment before an item got the requested state', () => {
    const player = withThree()
    expect(player.before('d', () => true)).toBe(2)
    expect(player.before('d', ({ kind }) => kind === 'row')).toBeUndefined()
  })

  it('the replay player drops the oldest changes above a limit without renumbering the others', () => {
    const player = new Player(4)
    player.begin({ items: [], frames: [] })
    for (let at = 1; at <= 10; at += 1) player.add([frame(at, `${at}`, `n${at}`)])
    expect(player.length).toBeLessThan(6)
    expect(player.lines(2)).toMatchObject([
      [9, { at: 10 }],
      [8, { at: 9 }],
    ])
    expect(player.items.size).toBe(10)
    player.seek(0)
    player.add([frame(11, '11', 'n11')])
    expect(player.items.has('n10')).toBe(true)
  })

  it('the replay player starts again with new items after a lost connection', () => {
    const player = withThree()
    player.stop()
    player.changed.clear()
    player.begin({ items: [item('z')], frames: [] })
    expect([shownIds(player), player.mode]).toEqual(['z', 'live'])
    expect(player.changed.has('a')).toBe(true)
  })
})

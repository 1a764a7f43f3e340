import { FakeClock } from '@csi-sidecars/base/testing'
import { describe, expect, it } from '@jest/globals'
import { apply, type ClusterNode, type Frame, type Item } from '../view/wire.ts'
import { Board, FrameHistory } from './board.ts'

const item = (id: string, ready = true): ClusterNode => ({ kind: 'node', id, name: id, ready, schedulable: true })

function boardOf(): { readonly board: Board; readonly frames: Frame[] } {
  const frames: Frame[] = []
  return { board: new Board(new FakeClock(), (frame) => void frames.push(frame)), frames }
}

/** Returns the items that a newly opened page shows after it has applied all frames. */
function itemsOf({ items, frames }: FrameHistory['beginning']): readonly Item[] {
  const map = new Map(items.map((each): [string, Item] => [each.id, each]))
  for (const frame of frames) apply(map, frame)
  return [...map.values()]
}

describe('Board', () => {
  it('the server sends the page only changed items, with a text line for each change', () => {
    const { board, frames } = boardOf()
    board.send(item('a'))
    board.frame({ who: 'you', text: 'a made' })
    board.send(item('a'))
    board.send(item('b'))
    board.frame()
    board.send(item('b'))
    board.frame()
    expect(frames).toMatchObject([{ line: { text: 'a made' }, items: [{ id: 'a' }] }, { items: [{ id: 'b' }] }])
    expect(frames).toHaveLength(2)
  })

  it('the server reports the removal of a sent item to the page only once', () => {
    const { board, frames } = boardOf()
    board.send(item('a'))
    board.frame()
    board.remove('a')
    board.remove('z')
    board.frame()
    board.remove('a')
    board.frame()
    expect(frames.slice(1)).toMatchObject([{ gone: ['a'] }])
  })

  it('a page that opens late gets all items and all earlier changes', () => {
    const { board } = boardOf()
    for (const id of ['a', 'b']) {
      board.send(item(id))
      board.frame()
    }
    expect(itemsOf(board.beginning)).toEqual([item('a'), item('b')])
    expect(board.beginning.frames).toHaveLength(2)
  })
})

describe('History', () => {
  it('the history of changes merges its oldest changes into the initial items when it is full', () => {
    const history = new FrameHistory(30)
    for (let at = 1; at <= 10; at += 1) history.add({ at, items: [item(`n${at % 4}`, at % 2 === 0)], gone: [] }, 10)
    const { items, frames } = history.beginning
    expect(frames.map(({ at }) => at)).toEqual([8, 9, 10])
    expect(items.map(({ id }) => id).sort()).toEqual(['n0', 'n1', 'n2', 'n3'])
    expect(itemsOf(history.beginning)).toContainEqual(item('n2', true))
  })

  it('a change that alone exceeds the history is merged into the initial items', () => {
    const history = new FrameHistory(30)
    history.add({ at: 1, items: [item('a')] }, 100)
    expect(history.beginning).toEqual({ items: [item('a')], frames: [] })
  })
})

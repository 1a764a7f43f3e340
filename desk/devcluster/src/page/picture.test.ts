import { describe, expect, it } from '@jest/globals'
import { pictureOf } from './view/picture.ts'
import type { ClaimRow, Item, NodePlace } from './view/wire.ts'

const node = (name: string, change = {}): Item => ({
  kind: 'node',
  id: `node/${name}`,
  name,
  ready: true,
  schedulable: true,
  ...change,
})

function row(name: string, change: Partial<ClaimRow> = {}): ClaimRow {
  const size = { text: '1Gi', bytes: 1024 ** 3 }
  const volume = { name: `pv-${name}`, phase: 'Bound', size, capacity: '1Gi', attributesClass: '' }
  return {
    kind: 'row',
    id: `claim/default/${name}`,
    name: `default/${name}`,
    pods: [],
    volume,
    places: [],
    snapshots: [],
    waits: [],
    ...change,
  }
}

const place = (name: string, state: NodePlace['state']): NodePlace => ({ node: name, state, pods: [] })
const pod = (name: string, on: string) => ({ key: `default/${name}`, node: on, phase: 'Running', deleting: false })

/** Returns one text for each box, such as `node-1: pod app Running, volume data mounted`. */
function drawn(...items: readonly Item[]): readonly string[] {
  return pictureOf(items).boxes.map(({ name, notes, chips }) => {
    const texts = chips.map(({ kind, name: chipName, state }) => `${kind} ${chipName} ${state}`)
    return `${[name, ...notes].join(', ')}: ${texts.join(', ')}`
  })
}

describe('pictureOf', () => {
  it('the picture of the cluster sorts nodes by number, and marks unready and cordoned nodes', () => {
    expect(drawn(node('node-10'), node('node-9', { ready: false, schedulable: false }))).toEqual([
      'node-9, not ready, cordoned: ',
      'node-10: ',
      'Volumes on no node: ',
    ])
  })

  it('the picture of the cluster shows pods and volumes on their nodes', () => {
    const data = row('data', { pods: [pod('app', 'node-1')], places: [place('node-1', 'mounted')] })
    expect(drawn(node('node-1'), data, row('free'))).toEqual([
      'node-1: pod app Running, volume data mounted',
      'Volumes on no node: volume free Bound',
    ])
  })

  it('the picture of the cluster shows a pod with two claims once, and a pod that waits for a node', () => {
    const both = { pods: [pod('app', 'node-1'), pod('late', '')] }
    expect(drawn(node('node-1'), row('a', both), row('b', both))).toEqual([
      'node-1: pod app Running',
      'Pods without a node: pod late Running',
      'Volumes on no node: volume a Bound, volume b Bound',
    ])
  })

  it('in the picture, a moving volume keeps its symbol, and a volume on two nodes has two symbols', () => {
    const keysOf = (...places: readonly NodePlace[]) =>
      pictureOf([node('node-1'), node('node-2'), row('data', { places })]).boxes.map(({ chips }) =>
        chips.map(({ key }) => key).join(),
      )
    const key = 'claim/default/data'
    expect(keysOf(place('node-1', 'detaching'))).toEqual([key, '', ''])
    expect(keysOf()).toEqual(['', '', key])
    expect(keysOf(place('node-2', 'attaching'))).toEqual(['', key, ''])
    expect(keysOf(place('node-1', 'mounted'), place('node-2', 'mounted'))).toEqual([key, `${key} node-2`, ''])
  })

  it('the picture of the cluster shows no volume for a claim without a volume', () => {
    const { volume: _, ...without } = row('data')
    expect(drawn(without)).toEqual(['Volumes on no node: '])
  })

  it('the picture of the cluster shows a limited number of nodes and volumes, and counts the others', () => {
    const nodes = Array.from({ length: 14 }, (_, index) => node(`node-${index + 1}`))
    const rows = Array.from({ length: 15 }, (_, index) => row(`data-${index + 1}`))
    const { boxes, moreNodes } = pictureOf([...nodes, ...rows])
    expect([boxes.length, moreNodes]).toEqual([13, 2])
    expect(boxes.at(-1)).toMatchObject({ more: 3 })
  })
})

import { describe, expect, it } from '@jest/globals'
import { Pins } from './pins.ts'

const of = (zone: string) => ({ requisite: [{ segments: { zone } }], preferred: [] })
const TRY = { node: 'a', ofClass: 'c', inProgress: false }

describe('Pins', () => {
  it.each([
    ['keeps the topology requirement of the same node and class', TRY, 'old'],
    ['replaces the topology requirement for another node', { ...TRY, node: 'b' }, 'new'],
    ['replaces the topology requirement for another class', { ...TRY, ofClass: 'd' }, 'new'],
    ['keeps the topology requirement while a creation may be running', { ...TRY, node: 'b', inProgress: true }, 'old'],
  ])('`Pins` %s', (_, tried, expected) => {
    const pins = new Pins()
    pins.requirement('uid', TRY, () => of('old'))
    expect(pins.requirement('uid', tried, () => of('new'))).toEqual(of(expected))
  })

  it('the topology requirement of a claim is forgotten when its creation has ended', () => {
    const pins = new Pins()
    pins.requirement('uid', TRY, () => of('old'))
    pins.release('uid')
    expect(pins.requirement('uid', { ...TRY, inProgress: true }, () => of('new'))).toEqual(of('new'))
  })
})

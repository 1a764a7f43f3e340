import { describe, expect, it } from '@jest/globals'
import { type CapacityView, decideCapacity, decidePublication } from './decide.ts'
import type { CapacityItem } from './items.ts'
import type { CapacityObject } from './object.ts'

const ITEM: CapacityItem = { key: 'key', className: 'class', segments: { zone: 'z1' } }
const CLASS: NonNullable<CapacityView['class']> = { parameters: { kind: 'ssd' } }
const OBJECT: CapacityObject = {
  key: 'ns/one',
  uid: 'one',
  resourceVersion: '1',
  itemKey: 'key',
  capacity: '1Gi',
  maximum: undefined,
  isOwned: true,
}
const SECOND = { ...OBJECT, key: 'ns/two', uid: 'two' }
const GIB = 1024n ** 3n

describe('decideCapacity', () => {
  it.each<[string, Partial<CapacityView>, readonly string[]]>([
    ['that have no object', {}, ['askDriver about none']],
    ['that have an object', { objects: [OBJECT] }, ['askDriver about ns/one']],
    ['that have two objects', { objects: [OBJECT, SECOND] }, ['delete ns/two', 'askDriver about ns/one']],
    [
      'that are gone, with two objects',
      { item: undefined, objects: [OBJECT, SECOND] },
      ['delete ns/one', 'delete ns/two'],
    ],
    ['that are gone, without objects', { item: undefined }, []],
    ['whose class is not cached', { class: undefined, objects: [OBJECT] }, []],
    ['whose class is not cached, with two objects', { class: undefined, objects: [OBJECT, SECOND] }, ['delete ns/two']],
  ])('`decideCapacity` plans the steps for a class and a segment %s', (_state, changes, expected) => {
    const plan = decideCapacity({ item: ITEM, class: CLASS, objects: [], ...changes })
    const texts = plan.map((step) =>
      step.kind === 'delete' ? `delete ${step.object.key}` : `askDriver about ${step.object?.key ?? 'none'}`,
    )
    expect(texts).toEqual(expected)
  })

  it('`decideCapacity` asks the driver with the parameters of the class and the segment of the item', () => {
    const plan = decideCapacity({ item: ITEM, class: CLASS, objects: [] })
    expect(plan).toEqual([{ kind: 'askDriver', parameters: CLASS.parameters, item: ITEM, object: undefined }])
  })
})

describe('decidePublication', () => {
  it.each<[string, CapacityObject | undefined, { available?: bigint; maximum?: bigint }, readonly string[]]>([
    ['is missing', undefined, {}, ['create']],
    ['has the capacity', OBJECT, {}, []],
    ['has the capacity in another notation', { ...OBJECT, capacity: '1073741824' }, {}, []],
    ['has another capacity', OBJECT, { available: 5n }, ['update']],
    ['has an unreadable capacity', { ...OBJECT, capacity: 'much' }, {}, ['update']],
    ['lacks the maximum size of a volume', OBJECT, { maximum: 5n }, ['update']],
    ['has a maximum size, but the answer has none', { ...OBJECT, maximum: '5' }, {}, ['update']],
    ['has the capacity and the maximum size', { ...OBJECT, maximum: '5' }, { maximum: 5n }, []],
    ['lacks the owner', { ...OBJECT, isOwned: false }, {}, ['update']],
  ])('`decidePublication` plans the write if the object %s', (_state, object, answer, expected) => {
    const capacity = { available: GIB, maximum: undefined, ...answer }
    const plan = decidePublication({ item: ITEM, object, capacity })
    expect(plan.map(({ kind }) => kind)).toEqual(expected)
  })

  it('`decidePublication` writes the answer of the driver, to the object if there is one', () => {
    const capacity = { available: 5n, maximum: 7n }
    expect(decidePublication({ item: ITEM, object: undefined, capacity })).toEqual([
      { kind: 'create', item: ITEM, capacity },
    ])
    expect(decidePublication({ item: ITEM, object: OBJECT, capacity })).toEqual([
      { kind: 'update', object: OBJECT, capacity },
    ])
  })
})

import { Metrics } from '@csi-sidecars/telemetry'
import { describe, expect, it } from '@jest/globals'
import { projectClass } from '../caches/cluster.ts'
import { CapacityItems, itemKey, itemsOf, segmentsOf } from './items.ts'

const identity = (key: string) => ({ key, uid: key, resourceVersion: '1' })

describe('segmentsOf', () => {
  const nodes = new Map(
    Object.entries({ a: { zone: 'z1', rack: 'r1' }, b: { zone: 'z1' }, c: { zone: 'z2' }, d: {} }).map(
      ([key, labels]) => [key, { ...identity(key), labels }],
    ),
  )
  it.each<[string, Record<string, string[] | undefined>, object[]]>([
    ['counts equal topologies once', { a: ['zone'], b: ['zone'], c: ['zone'] }, [{ zone: 'z1' }, { zone: 'z2' }]],
    ['keeps the keys of each node', { a: ['rack', 'zone'], b: ['zone'] }, [{ rack: 'r1', zone: 'z1' }, { zone: 'z1' }]],
    ['leaves out nodes without a label', { b: ['zone', 'rack'], c: ['zone'] }, [{ zone: 'z2' }]],
    ['leaves out nodes without the driver, and missing nodes', { a: undefined, missing: ['zone'] }, []],
    ['finds one topology for nodes without keys', { a: [], d: [] }, [{}]],
  ])('`segmentsOf` %s', (_what, keys, expected) => {
    const registrations = Object.entries(keys).map(([key, topologyKeys]) => ({ ...identity(key), topologyKeys }))
    expect(segmentsOf(registrations, nodes)).toEqual(expected)
  })
})

describe('itemsOf', () => {
  const late = 'WaitForFirstConsumer'
  const classes = [
    { metadata: { name: 'late' }, provisioner: 'driver', volumeBindingMode: late },
    { metadata: { name: 'soon' }, provisioner: 'driver' },
    { metadata: { name: 'in-tree' }, provisioner: 'kubernetes.io/x', volumeBindingMode: late },
    { metadata: { name: 'other' }, provisioner: 'other', volumeBindingMode: late },
  ].map(projectClass)
  const names = { driver: 'driver', inTree: 'kubernetes.io/x' }

  it.each([
    [false, ['late']],
    [true, ['late', 'soon']],
  ])('`itemsOf` lists the classes of the driver, including immediate binding: %s', (immediate, expected) => {
    const items = [...itemsOf(classes, [{ zone: 'z1' }], { names, immediate }).values()]
    expect(items.map(({ className }) => className)).toEqual(expected)
  })

  it('topologies that differ only in the order of labels get the same key', () => {
    expect(itemKey('class', { a: '1', b: '2' })).toBe(itemKey('class', { b: '2', a: '1' }))
  })
})

describe('CapacityItems', () => {
  it('no object counts as obsolete before the required objects are known', async () => {
    const metrics = new Metrics()
    const classes = { store: new Map() } as never
    const objects = { store: { byIndex: () => [], values: () => [{ ...identity('o'), itemKey: 'gone' }].values() } }
    const items = new CapacityItems({
      classes,
      segments: { fixed: {} },
      objects,
      names: { driver: 'driver', inTree: undefined },
      immediate: false,
    })
    items.registerMetrics(metrics)
    expect(await metrics.text()).toContain('csistoragecapacities_obsolete 0')
    items.updateItems()
    expect(await metrics.text()).toContain('csistoragecapacities_obsolete 1')
  })
})

import { FakeClock } from '@csi-sidecars/base/testing'
import { recordingQueue, ScriptedInformer } from '@csi-sidecars/controller/testing'
import type { InformerEvent } from '@csi-sidecars/informer'
import type { StorageClass } from '@csi-sidecars/kube-types'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type Class, type ProvisionerNode, projectClass, type Registration } from '../caches/cluster.ts'
import { CapacityItems, itemKey } from './items.ts'
import type { CapacityObject, CapacitySettings } from './object.ts'
import { enqueueAtIntervals, enqueueOnChanges, enqueueOnOtherWrites } from './triggers.ts'

const DRIVER = 'csi.example.com'
const SEGMENTS = { zone: 'z1' }
const CLASS = projectClass({ metadata: { name: 'fast' }, provisioner: DRIVER })
const REQUIRED = itemKey('fast', SEGMENTS)

const change = <T>(before: T, after: T): InformerEvent<T> => ({ type: 'updated', before, after, origin: 'change' })

const requests: string[] = []
const queue = recordingQueue(requests)
beforeEach(() => {
  requests.length = 0
})

/** Returns the items of one class in one segment. */
function knownItems(): CapacityItems {
  const items = new CapacityItems({
    classes: new ScriptedInformer<Class>(CLASS).asInformer<StorageClass>(),
    segments: { fixed: SEGMENTS },
    objects: { store: { byIndex: () => [], values: () => [].values() } },
    names: { driver: DRIVER, inTree: undefined },
    immediate: true,
  })
  items.updateItems()
  return items
}

describe('enqueueOnChanges', () => {
  const node = (zone: string): ProvisionerNode => ({ key: 'n', uid: 'n', resourceVersion: zone, labels: { zone } })
  const registration = (...topologyKeys: string[]): Registration => ({
    ...{ key: 'n', uid: 'r', resourceVersion: `${topologyKeys.length}` },
    topologyKeys,
  })
  const classes = new ScriptedInformer<Class>()
  const nodes = new ScriptedInformer<ProvisionerNode>()
  const registrations = new ScriptedInformer<Registration>()
  const topology = { nodes: nodes.asInformer<never>(), registrations: registrations.asInformer<never>() }

  it('the items are computed at the start, and after each change of a class, of labels or of topology keys', () => {
    const end = enqueueOnChanges(classes.asInformer(), topology)(queue)
    expect(requests.splice(0)).toEqual(['add '])
    classes.emit({ type: 'added', object: CLASS })
    expect(requests.splice(0)).toEqual(['add '])
    nodes.emit(change(node('z1'), node('z2')))
    expect(requests.splice(0)).toEqual(['add '])
    registrations.emit(change(registration(), registration('zone')))
    expect(requests.splice(0)).toEqual(['add '])
    end()
    expect([classes, nodes, registrations].map(({ listeners }) => listeners.size)).toEqual([0, 0, 0])
  })

  it('the items are not computed after the heartbeat of a node', () => {
    const end = enqueueOnChanges(classes.asInformer(), topology)(queue)
    requests.length = 0
    nodes.emit(change(node('z1'), { ...node('z1'), resourceVersion: '2' }))
    registrations.emit(change(registration('zone'), { ...registration('zone'), resourceVersion: '2' }))
    expect(requests).toEqual([])
    end()
  })

  it('with the fixed segment of --node-deployment, only the start and classes cause work', () => {
    const end = enqueueOnChanges(classes.asInformer(), { fixed: SEGMENTS })(queue)
    classes.emit({ type: 'deleted', object: CLASS })
    expect(requests).toEqual(['add ', 'add '])
    end()
    expect(classes.listeners.size).toBe(0)
  })
})

describe('enqueueOnOtherWrites', () => {
  const object = (item: string): CapacityObject => ({
    ...{ key: 'ns/one', uid: 'one', resourceVersion: '1', itemKey: item },
    ...{ capacity: '1Gi', maximum: undefined, isOwned: true },
  })

  /** Returns the enqueued keys after an event, with this number of objects in the cache. */
  function enqueued(type: 'added' | 'deleted', item: string, found: number): readonly string[] {
    const informer = new ScriptedInformer<CapacityObject>()
    const byIndex = (_: string, key: string) => Array.from({ length: found }, () => object(key))
    const objects = Object.assign(informer.asInformer<never>(), { store: { ...informer.store, byIndex } })
    const end = enqueueOnOtherWrites({ objects, items: knownItems() })(queue)
    informer.emit({ type, object: object(item) })
    end()
    expect(informer.listeners.size).toBe(0)
    return requests.splice(0)
  }

  it.each<[string, 'added' | 'deleted', string, number, readonly string[]]>([
    ['creates a second object of a required item', 'added', REQUIRED, 2, [`add ${REQUIRED}`]],
    ['creates an object that is not required', 'added', 'other', 1, ['add other']],
    ['deletes a required object', 'deleted', REQUIRED, 0, [`add ${REQUIRED}`]],
  ])('the item is enqueued after another client %s', (_, type, item, found, expected) => {
    expect(enqueued(type, item, found)).toEqual(expected)
  })

  it.each<[string, 'added' | 'deleted', string, number]>([
    ['the one required object appears', 'added', REQUIRED, 1],
    ['a needless object disappears', 'deleted', 'other', 0],
    ['one of two objects disappears', 'deleted', REQUIRED, 1],
    ['one of three objects disappears', 'deleted', REQUIRED, 2],
  ])('nothing is enqueued when %s, as after our own writes', (_, type, item, found) => {
    expect(enqueued(type, item, found)).toEqual([])
  })

  it('nothing is enqueued after an update, which a poll of the driver repairs', () => {
    const informer = new ScriptedInformer<CapacityObject>()
    const objects = Object.assign(informer.asInformer<never>(), { store: { ...informer.store, byIndex: () => [] } })
    enqueueOnOtherWrites({ objects, items: knownItems() })(queue)
    informer.emit(change(object(REQUIRED), object(REQUIRED)))
    expect(requests).toEqual([])
  })
})

describe('enqueueAtIntervals', () => {
  it('each required object is enqueued once in each interval, until the term ends', async () => {
    const clock = new FakeClock()
    const term = new AbortController()
    const settings = { pollMs: 1_000 } as CapacitySettings
    const polling = enqueueAtIntervals(queue, { settings, items: knownItems(), clock }, term.signal)
    await clock.advance(999)
    expect(requests).toEqual([])
    await clock.advance(1)
    expect(requests.splice(0)).toEqual([`add ${REQUIRED}`])
    await clock.advance(1_000)
    expect(requests.splice(0)).toEqual([`add ${REQUIRED}`])
    term.abort()
    await polling
    expect(requests).toEqual([])
  })
})

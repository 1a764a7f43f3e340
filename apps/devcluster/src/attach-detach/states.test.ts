import { beforeEach, describe, expect, it } from '@jest/globals'
import { ActualStateOfWorld } from './actual-state.ts'
import { DesiredStateOfWorld, type VolumeSpec } from './desired-state.ts'

const spec = (volumeName = 'v'): VolumeSpec => ({ volumeName, pvName: `pv-${volumeName}`, multiAttach: false })
const ref = (uid: string) => ({ key: `default/${uid}`, uid, resourceVersion: '1' })

describe('the desired state of world', () => {
  let world: DesiredStateOfWorld
  beforeEach(() => {
    world = new DesiredStateOfWorld()
    world.addNode('node-1')
    world.addNode('node-2')
  })

  it('takes no pod of a node that it does not manage', () => {
    expect(world.addPod(ref('a'), 'node-9', spec())).toBe(false)
    expect([...world.nodesOf('v')]).toEqual([])
  })

  it('wants a volume until the last pod is gone', () => {
    world.addPod(ref('a'), 'node-1', spec())
    world.addPod(ref('b'), 'node-1', spec())
    world.deletePod('a')
    expect([...world.nodesOf('v')]).toEqual(['node-1'])
    world.deletePod('b')
    expect([...world.nodesOf('v')]).toEqual([])
  })

  it('says whether a pod is news', () => {
    expect([world.addPod(ref('a'), 'node-1', spec()), world.addPod(ref('a'), 'node-1', spec())]).toEqual([true, false])
  })

  it('names the volumes of a pod that goes', () => {
    world.addPod(ref('a'), 'node-1', spec('v'))
    world.addPod(ref('a'), 'node-1', spec('w'))
    expect(world.deletePod('a')).toEqual(['v', 'w'])
    expect(world.deletePod('a')).toEqual([])
  })

  it('keeps a node on which something is wanted', () => {
    world.addPod(ref('a'), 'node-1', spec())
    world.deleteNode('node-1')
    world.deleteNode('node-2')
    expect([world.hasNode('node-1'), world.hasNode('node-2')]).toEqual([true, false])
  })

  it('drops one volume of a pod and keeps the others', () => {
    world.addPod(ref('a'), 'node-1', spec('v'))
    world.addPod(ref('a'), 'node-1', spec('w'))
    world.deleteVolumeOfPod('a', 'v')
    expect([[...world.nodesOf('v')], [...world.nodesOf('w')]]).toEqual([[], ['node-1']])
  })

  it('forgets what it told when the volume leaves the node', () => {
    world.addPod(ref('a'), 'node-1', spec())
    world.multiAttachTold('v', 'node-1')
    expect(world.wasMultiAttachTold('v', 'node-1')).toBe(true)
    world.deletePod('a')
    world.addPod(ref('a'), 'node-1', spec())
    expect(world.wasMultiAttachTold('v', 'node-1')).toBe(false)
  })
})

describe('the actual state of world', () => {
  let world: ActualStateOfWorld
  beforeEach(() => {
    world = new ActualStateOfWorld()
  })

  it('reports what is attached, and nothing that is uncertain', () => {
    world.markAttached('v', 'node-1')
    world.markAttached('w', 'node-1')
    expect(world.reportedOn('node-1')).toEqual(['v', 'w'])
    world.markUncertain('v', 'node-1')
    expect(world.reportedOn('node-1')).toEqual(['w'])
  })

  it('does not report what is about to be detached, though it is attached', () => {
    world.markAttached('v', 'node-1')
    world.unreport('v', 'node-1')
    expect([world.on('v', 'node-1')?.state, world.isReported('v', 'node-1')]).toEqual(['attached', false])
  })

  it('counts the wait for an unmount from its first request', () => {
    world.markAttached('v', 'node-1')
    world.requestDetach('v', 'node-1', 5)
    world.requestDetach('v', 'node-1', 9)
    world.markUncertain('v', 'node-1')
    expect(world.on('v', 'node-1')).toEqual({ state: 'uncertain', detachRequestedAt: 5 })
    world.resetDetachRequest('v', 'node-1')
    expect(world.on('v', 'node-1')?.detachRequestedAt).toBeUndefined()
  })

  it('says which volumes a report of the node is news for', () => {
    world.setInUse('node-1', ['a', 'b'])
    expect([...world.setInUse('node-1', ['b', 'c'])].sort()).toEqual(['a', 'c'])
    expect(world.setInUse('node-1', ['c', 'b'])).toEqual([])
  })

  it('forgets a volume with its last node', () => {
    world.markAttached('v', 'node-1')
    world.markAttached('v', 'node-2')
    world.markDetached('v', 'node-1')
    expect([[...world.nodesOf('v')], world.volumesOn('node-1')]).toEqual([['node-2'], []])
    world.markDetached('v', 'node-2')
    expect([...world.volumes()]).toEqual([])
  })
})

import { beforeEach, describe, expect, it } from '@jest/globals'
import { ActualAttachments } from './actual-state.ts'
import { DesiredAttachments, type VolumeSpec } from './desired-state.ts'

const spec = (volumeName = 'v'): VolumeSpec => ({ volumeName, pvName: `pv-${volumeName}`, multiAttach: false })
const ref = (uid: string) => ({ key: `default/${uid}`, uid, resourceVersion: '1' })

describe('desired state', () => {
  let state: DesiredAttachments
  beforeEach(() => {
    state = new DesiredAttachments()
    state.addNode('node-1')
    state.addNode('node-2')
  })

  it('the desired state ignores pods on a node that the controller does not manage', () => {
    expect(state.addPod(ref('a'), 'node-9', spec())).toBe(false)
    expect([...state.nodesOf('v')]).toEqual([])
  })

  it('the desired state contains a volume until its last pod is deleted', () => {
    state.addPod(ref('a'), 'node-1', spec())
    state.addPod(ref('b'), 'node-1', spec())
    state.deletePod('a')
    expect([...state.nodesOf('v')]).toEqual(['node-1'])
    state.deletePod('b')
    expect([...state.nodesOf('v')]).toEqual([])
  })

  it('the desired state reports whether an added pod is new', () => {
    expect([state.addPod(ref('a'), 'node-1', spec()), state.addPod(ref('a'), 'node-1', spec())]).toEqual([true, false])
  })

  it('the desired state returns the volumes of a deleted pod', () => {
    state.addPod(ref('a'), 'node-1', spec('v'))
    state.addPod(ref('a'), 'node-1', spec('w'))
    expect(state.deletePod('a')).toEqual(['v', 'w'])
    expect(state.deletePod('a')).toEqual([])
  })

  it('the desired state keeps a deleted node while its pod needs a volume', () => {
    state.addPod(ref('a'), 'node-1', spec())
    state.deleteNode('node-1')
    state.deleteNode('node-2')
    expect([state.hasNode('node-1'), state.hasNode('node-2')]).toEqual([true, false])
  })

  it('the desired state can remove one volume of a pod and keep the others', () => {
    state.addPod(ref('a'), 'node-1', spec('v'))
    state.addPod(ref('a'), 'node-1', spec('w'))
    state.deleteVolumeOfPod('a', 'v')
    expect([[...state.nodesOf('v')], [...state.nodesOf('w')]]).toEqual([[], ['node-1']])
  })

  it('the desired state forgets a Multi-Attach error when no pod on the node needs the volume', () => {
    state.addPod(ref('a'), 'node-1', spec())
    state.multiAttachReported('v', 'node-1')
    expect(state.wasMultiAttachReported('v', 'node-1')).toBe(true)
    state.deletePod('a')
    state.addPod(ref('a'), 'node-1', spec())
    expect(state.wasMultiAttachReported('v', 'node-1')).toBe(false)
  })
})

describe('actual state', () => {
  let state: ActualAttachments
  beforeEach(() => {
    state = new ActualAttachments()
  })

  it('the actual state reports attached volumes for the node status, but no uncertain volumes', () => {
    state.markAttached('v', 'node-1')
    state.markAttached('w', 'node-1')
    expect(state.reportedOn('node-1')).toEqual(['v', 'w'])
    state.markUncertain('v', 'node-1')
    expect(state.reportedOn('node-1')).toEqual(['w'])
  })

  it('an attached volume that is about to be detached is not reported in the node status', () => {
    state.markAttached('v', 'node-1')
    state.unreport('v', 'node-1')
    expect([state.on('v', 'node-1')?.state, state.isReported('v', 'node-1')]).toEqual(['attached', false])
  })

  it('the actual state measures the wait for an unmount from the first detach request', () => {
    state.markAttached('v', 'node-1')
    state.requestDetach('v', 'node-1', 5)
    state.requestDetach('v', 'node-1', 9)
    state.markUncertain('v', 'node-1')
    expect(state.on('v', 'node-1')).toEqual({ state: 'uncertain', detachRequestedAt: 5 })
    state.resetDetachRequest('v', 'node-1')
    expect(state.on('v', 'node-1')?.detachRequestedAt).toBeUndefined()
  })

  it('the actual state returns the volumes that a new in-use list adds or removes', () => {
    state.setInUse('node-1', ['a', 'b'])
    expect([...state.setInUse('node-1', ['b', 'c'])].sort()).toEqual(['a', 'c'])
    expect(state.setInUse('node-1', ['c', 'b'])).toEqual([])
  })

  it('the actual state forgets a volume that is detached from its last node', () => {
    state.markAttached('v', 'node-1')
    state.markAttached('v', 'node-2')
    state.markDetached('v', 'node-1')
    expect([[...state.nodesOf('v')], state.volumesOn('node-1')]).toEqual([['node-2'], []])
    state.markDetached('v', 'node-2')
    expect([...state.volumes()]).toEqual([])
  })
})

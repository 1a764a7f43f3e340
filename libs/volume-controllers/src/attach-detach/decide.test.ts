import { describe, expect, it } from '@jest/globals'
import { decideVolume, type NodeView, type Step, type VolumeView } from './decide.ts'
import type { PodRef } from './desired-state.ts'

const POD: PodRef = { key: 'default/app', uid: 'uid-app', resourceVersion: '1' }
const NOW = 1_000_000
const SIX_MINUTES = 360_000

/** A node that wants the volume and has nothing of it. */
const wants = (change: Partial<NodeView> = {}): NodeView => ({
  node: 'node-1',
  pods: [POD],
  actual: undefined,
  attachment: 'none',
  attachError: undefined,
  errorReported: false,
  waitingSince: undefined,
  isReported: false,
  inUse: false,
  health: 'healthy',
  outOfService: false,
  multiAttachReported: false,
  ...change,
})

/** A node that has the volume and should not. */
const has = (change: Partial<NodeView> = {}): NodeView =>
  wants({
    pods: [],
    actual: { state: 'attached', detachRequestedAt: undefined },
    attachment: 'attached',
    isReported: true,
    ...change,
  })

/** A node that wants the volume and has it. */
const holds = (change: Partial<NodeView> = {}): NodeView => has({ pods: [POD], inUse: true, ...change })

const UNCERTAIN = { state: 'uncertain' as const, detachRequestedAt: undefined }

const decide = (nodes: readonly NodeView[], change: Partial<VolumeView> = {}): readonly Step[] =>
  decideVolume({ multiAttach: false, nodes, now: NOW, maxWaitForUnmountMs: SIX_MINUTES, ...change })

const summary = (steps: readonly Step[]): string[] =>
  steps.map((step) => {
    if (step.do === 'wait') return `wait ${step.ms}`
    if (step.do === 'detach' && step.force !== undefined) return `detach ${step.node} by force: ${step.force}`
    return `${step.do} ${step.node}`
  })

describe('an attach', () => {
  const rows: { name: string; nodes: NodeView[]; steps: string[] }[] = [
    { name: 'is asked for where a pod wants the volume', nodes: [wants()], steps: ['attach node-1'] },
    {
      name: 'is waited for',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting' })],
      steps: ['beginWait node-1', 'wait 120000'],
    },
    {
      name: 'that was requested and is not in the cache is read',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'unknown' })],
      steps: ['readAttachment node-1'],
    },
    {
      name: 'is complete when the attacher says so',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'attached' })],
      steps: ['markAttached node-1'],
    },
    {
      name: 'that is complete needs nothing',
      nodes: [holds()],
      steps: [],
    },
    {
      name: 'from before a restart is taken over',
      nodes: [wants({ attachment: 'waiting' })],
      steps: ['markUncertain node-1', 'beginWait node-1', 'wait 120000'],
    },
    {
      name: 'that fails is reported',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting', attachError: 'no' })],
      steps: ['recordFailure node-1'],
    },
    {
      name: 'that fails is reported once, however long that lasts',
      nodes: [
        wants({ actual: UNCERTAIN, attachment: 'waiting', attachError: 'no', errorReported: true, waitingSince: 1 }),
      ],
      steps: [],
    },
    {
      name: 'is waited for until two minutes are over',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting', waitingSince: NOW - 119_999 })],
      steps: ['wait 1'],
    },
    {
      name: 'that is not answered is reported after two minutes, and waited for again',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting', waitingSince: NOW - 120_000 })],
      steps: ['recordTimeout node-1', 'beginWait node-1', 'wait 120000'],
    },
    {
      name: 'is asked for again when a user deleted the attachment',
      nodes: [holds({ attachment: 'none' })],
      steps: ['markDetached node-1', 'attach node-1'],
    },
    {
      name: 'is uncertain again when a client has withdrawn that it is attached',
      nodes: [holds({ attachment: 'waiting' })],
      steps: ['markUncertain node-1', 'beginWait node-1', 'wait 120000'],
    },
    {
      name: 'waits for the end of a detach that is under way',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'deleting' })],
      steps: [],
    },
    {
      name: 'is no longer safe to use when its attachment is being deleted',
      nodes: [holds({ attachment: 'deleting' })],
      steps: ['markUncertain node-1'],
    },
    {
      name: 'takes back a detach that was asked for',
      nodes: [holds({ actual: { state: 'attached', detachRequestedAt: 1 }, isReported: false })],
      steps: ['keep node-1'],
    },
  ]
  it.each(rows)('$name', ({ nodes, steps }) => {
    expect(summary(decide(nodes))).toEqual(steps)
  })
})

describe('a detach', () => {
  const asked = (ago: number): NodeView['actual'] => ({ state: 'attached', detachRequestedAt: NOW - ago })
  const rows: { name: string; nodes: NodeView[]; change?: Partial<VolumeView>; steps: string[] }[] = [
    { name: 'is asked for where no pod wants the volume', nodes: [has()], steps: ['detach node-1'] },
    { name: 'waits while the node uses the volume', nodes: [has({ inUse: true })], steps: ['requestDetach node-1'] },
    {
      name: 'waits for a healthy node without limit',
      nodes: [has({ inUse: true, actual: asked(10 * SIX_MINUTES) })],
      steps: ['requestDetach node-1'],
    },
    {
      name: 'waits for an unhealthy node no longer than allowed',
      nodes: [has({ inUse: true, health: 'unhealthy', actual: asked(60_000) })],
      steps: ['requestDetach node-1', 'wait 300000'],
    },
    {
      name: 'is forced on an unhealthy node when the time is over',
      nodes: [has({ inUse: true, health: 'unhealthy', actual: asked(SIX_MINUTES) })],
      steps: ['detach node-1 by force: timeout'],
    },
    {
      name: 'is forced on a node that is gone when the time is over',
      nodes: [has({ inUse: true, health: 'gone', actual: asked(SIX_MINUTES) })],
      steps: ['detach node-1 by force: timeout'],
    },
    {
      name: 'is never forced where that is switched off',
      nodes: [has({ inUse: true, health: 'gone', actual: asked(SIX_MINUTES) })],
      change: { maxWaitForUnmountMs: undefined },
      steps: ['requestDetach node-1'],
    },
    {
      name: 'is forced at once on a node that is out of service',
      nodes: [has({ inUse: true, outOfService: true })],
      steps: ['detach node-1 by force: out-of-service'],
    },
    { name: 'that is under way is waited for', nodes: [has({ actual: UNCERTAIN, attachment: 'deleting' })], steps: [] },
    {
      name: 'that another client began makes the volume unsafe to use',
      nodes: [has({ attachment: 'deleting' })],
      steps: ['markUncertain node-1'],
    },
    {
      name: 'is over when the attachment is gone',
      nodes: [has({ actual: UNCERTAIN, attachment: 'none' })],
      steps: ['markDetached node-1'],
    },
    {
      name: 'asks first where it is unknown whether there is an attachment',
      nodes: [has({ actual: UNCERTAIN, attachment: 'unknown', isReported: false })],
      steps: ['readAttachment node-1'],
    },
    {
      name: 'takes back an attach that never ended',
      nodes: [has({ actual: UNCERTAIN, attachment: 'waiting', isReported: false })],
      steps: ['detach node-1'],
    },
  ]
  it.each(rows)('$name', ({ nodes, change, steps }) => {
    expect(summary(decide(nodes, change))).toEqual(steps)
  })
})

describe('a volume for one node', () => {
  const old = has({ node: 'node-1' })
  const next = wants({ node: 'node-2' })

  it('leaves its old node before it is attached to the new one', () => {
    expect(summary(decide([old, next]))).toEqual(['detach node-1'])
  })

  it('attaches to the new node after the detach from the old node', () => {
    const steps = decide([{ ...old, actual: UNCERTAIN, attachment: 'none' }, next])
    expect(summary(steps)).toEqual(['markDetached node-1', 'attach node-2'])
  })

  it.each(['unknown', 'waiting', 'attached', 'deleting'] as const)(
    'attaches the volume to no node while an old attachment is %s',
    (attachment) => {
      const steps = decide([{ ...old, actual: UNCERTAIN, attachment }, next])
      expect(steps.filter((step) => step.do === 'attach')).toEqual([])
    },
  )

  it('reports a multi-attach while the old node uses it', () => {
    expect(summary(decide([{ ...old, inUse: true }, next]))).toEqual([
      'requestDetach node-1',
      'recordMultiAttach node-2',
    ])
  })

  it('reports no multi-attach while it is being detached from the old node', () => {
    expect(summary(decide([{ ...old, actual: UNCERTAIN, attachment: 'deleting' }, next]))).toEqual([])
  })

  it('reports no multi-attach while it is not known whether the old node has it', () => {
    const steps = decide([{ ...old, actual: UNCERTAIN, attachment: 'unknown' }, next])
    expect(summary(steps)).toEqual(['readAttachment node-1'])
  })

  it('reports a multi-attach once', () => {
    expect(summary(decide([holds(), { ...next, multiAttachReported: true }]))).toEqual([])
  })

  it('names the nodes that have it', () => {
    expect(decide([holds(), next])).toEqual([
      { do: 'recordMultiAttach', node: 'node-2', pods: [POD], others: ['node-1'] },
    ])
  })

  it('attaches to one node only if two nodes want the volume', () => {
    expect(summary(decide([wants({ node: 'node-1' }), next]))).toEqual(['attach node-1', 'recordMultiAttach node-2'])
  })
})

describe('a volume for many nodes', () => {
  it('attaches to all nodes that want the volume', () => {
    const steps = decide([holds(), wants({ node: 'node-2' }), wants({ node: 'node-3' })], { multiAttach: true })
    expect(summary(steps)).toEqual(['attach node-2', 'attach node-3'])
  })
})

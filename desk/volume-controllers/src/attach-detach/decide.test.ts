import { describe, expect, it } from '@jest/globals'
import { type AttachDetachView, decideVolume, type NodeStep, type NodeView } from './decide.ts'
import type { PodRef } from './desired-state.ts'

const POD: PodRef = { key: 'default/app', uid: 'uid-app', resourceVersion: '1' }
const NOW = 1_000_000
const SIX_MINUTES = 360_000

/** A node with a pod that wants the volume. The volume is not attached to the node. */
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

/** A node to which the volume is attached, although no pod on the node wants it. */
const has = (change: Partial<NodeView> = {}): NodeView =>
  wants({
    pods: [],
    actual: { state: 'attached', detachRequestedAt: undefined },
    attachment: 'attached',
    isReported: true,
    ...change,
  })

/** A node to which the volume is attached, with a pod that uses it. */
const holds = (change: Partial<NodeView> = {}): NodeView => has({ pods: [POD], inUse: true, ...change })

const UNCERTAIN = { state: 'uncertain' as const, detachRequestedAt: undefined }

const decide = (nodes: readonly NodeView[], change: Partial<AttachDetachView> = {}): readonly NodeStep[] =>
  decideVolume({ multiAttach: false, nodes, now: NOW, maxWaitForUnmountMs: SIX_MINUTES, ...change })

const summary = (steps: readonly NodeStep[]): string[] =>
  steps.map((step) => {
    if (step.kind === 'wait') return `wait ${step.ms}`
    if (step.kind === 'detach' && step.force !== undefined) return `detach ${step.node} by force: ${step.force}`
    return `${step.kind} ${step.node}`
  })

describe('attach', () => {
  const rows: { name: string; nodes: NodeView[]; steps: string[] }[] = [
    { name: 'requests an attach if a pod wants the volume', nodes: [wants()], steps: ['attach node-1'] },
    {
      name: 'waits for the attacher',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting' })],
      steps: ['beginWait node-1', 'wait 120000'],
    },
    {
      name: 'reads a requested attachment that the cache lacks',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'unknown' })],
      steps: ['readAttachment node-1'],
    },
    {
      name: 'marks the volume as attached when the attacher reports it',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'attached' })],
      steps: ['markAttached node-1'],
    },
    {
      name: 'returns no step for an attached volume',
      nodes: [holds()],
      steps: [],
    },
    {
      name: 'waits for an attachment from before a restart',
      nodes: [wants({ attachment: 'waiting' })],
      steps: ['markUncertain node-1', 'beginWait node-1', 'wait 120000'],
    },
    {
      name: 'records the error of the attacher',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting', attachError: 'no' })],
      steps: ['recordFailure node-1'],
    },
    {
      name: 'records the error of the attacher only once',
      nodes: [
        wants({ actual: UNCERTAIN, attachment: 'waiting', attachError: 'no', errorReported: true, waitingSince: 1 }),
      ],
      steps: [],
    },
    {
      name: 'waits for the attacher up to two minutes',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting', waitingSince: NOW - 119_999 })],
      steps: ['wait 1'],
    },
    {
      name: 'records a time-out after two minutes, and waits again',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'waiting', waitingSince: NOW - 120_000 })],
      steps: ['recordTimeout node-1', 'beginWait node-1', 'wait 120000'],
    },
    {
      name: 'requests a new attach if a user has deleted the attachment',
      nodes: [holds({ attachment: 'none' })],
      steps: ['markDetached node-1', 'attach node-1'],
    },
    {
      name: 'marks the volume as uncertain if a client resets the status of the attachment',
      nodes: [holds({ attachment: 'waiting' })],
      steps: ['markUncertain node-1', 'beginWait node-1', 'wait 120000'],
    },
    {
      name: 'waits for the end of a running detach',
      nodes: [wants({ actual: UNCERTAIN, attachment: 'deleting' })],
      steps: [],
    },
    {
      name: 'marks the volume as uncertain while its attachment is being deleted',
      nodes: [holds({ attachment: 'deleting' })],
      steps: ['markUncertain node-1'],
    },
    {
      name: 'cancels a requested detach',
      nodes: [holds({ actual: { state: 'attached', detachRequestedAt: 1 }, isReported: false })],
      steps: ['keep node-1'],
    },
  ]
  it.each(rows)('if a pod needs the volume, the attach/detach controller $name', ({ nodes, steps }) => {
    expect(summary(decide(nodes))).toEqual(steps)
  })
})

describe('detach', () => {
  const asked = (ago: number): NodeView['actual'] => ({ state: 'attached', detachRequestedAt: NOW - ago })
  const rows: { name: string; nodes: NodeView[]; change?: Partial<AttachDetachView>; steps: string[] }[] = [
    { name: 'detaches a volume that no pod wants', nodes: [has()], steps: ['detach node-1'] },
    { name: 'waits while the node uses the volume', nodes: [has({ inUse: true })], steps: ['requestDetach node-1'] },
    {
      name: 'waits without a time limit for a healthy node to unmount',
      nodes: [has({ inUse: true, actual: asked(10 * SIX_MINUTES) })],
      steps: ['requestDetach node-1'],
    },
    {
      name: 'waits up to the time limit for an unhealthy node to unmount',
      nodes: [has({ inUse: true, health: 'unhealthy', actual: asked(60_000) })],
      steps: ['requestDetach node-1', 'wait 300000'],
    },
    {
      name: 'forces the detach from an unhealthy node after the time limit',
      nodes: [has({ inUse: true, health: 'unhealthy', actual: asked(SIX_MINUTES) })],
      steps: ['detach node-1 by force: timeout'],
    },
    {
      name: 'forces the detach from a deleted node after the time limit',
      nodes: [has({ inUse: true, health: 'gone', actual: asked(SIX_MINUTES) })],
      steps: ['detach node-1 by force: timeout'],
    },
    {
      name: 'never forces a detach if there is no time limit',
      nodes: [has({ inUse: true, health: 'gone', actual: asked(SIX_MINUTES) })],
      change: { maxWaitForUnmountMs: undefined },
      steps: ['requestDetach node-1'],
    },
    {
      name: 'forces the detach from an out-of-service node at once',
      nodes: [has({ inUse: true, outOfService: true })],
      steps: ['detach node-1 by force: out-of-service'],
    },
    { name: 'waits for a running detach', nodes: [has({ actual: UNCERTAIN, attachment: 'deleting' })], steps: [] },
    {
      name: 'marks the volume as uncertain if another client deletes the attachment',
      nodes: [has({ attachment: 'deleting' })],
      steps: ['markUncertain node-1'],
    },
    {
      name: 'marks the volume as detached when the attachment is gone',
      nodes: [has({ actual: UNCERTAIN, attachment: 'none' })],
      steps: ['markDetached node-1'],
    },
    {
      name: 'reads the attachment first if its existence is unknown',
      nodes: [has({ actual: UNCERTAIN, attachment: 'unknown', isReported: false })],
      steps: ['readAttachment node-1'],
    },
    {
      name: 'detaches a volume whose attach never ended',
      nodes: [has({ actual: UNCERTAIN, attachment: 'waiting', isReported: false })],
      steps: ['detach node-1'],
    },
  ]
  it.each(rows)('if no pod needs the volume, the attach/detach controller $name', ({ nodes, change, steps }) => {
    expect(summary(decide(nodes, change))).toEqual(steps)
  })
})

describe('single-node volumes', () => {
  const old = has({ node: 'node-1' })
  const next = wants({ node: 'node-2' })

  it('a single-node volume is detached from the old node before it is attached to the new node', () => {
    expect(summary(decide([old, next]))).toEqual(['detach node-1'])
  })

  it('a volume is attached to the new node after the detach from the old node', () => {
    const steps = decide([{ ...old, actual: UNCERTAIN, attachment: 'none' }, next])
    expect(summary(steps)).toEqual(['markDetached node-1', 'attach node-2'])
  })

  it.each(['unknown', 'waiting', 'attached', 'deleting'] as const)(
    'a single-node volume is not attached to a new node while an old attachment is %s',
    (attachment) => {
      const steps = decide([{ ...old, actual: UNCERTAIN, attachment }, next])
      expect(steps.filter((step) => step.kind === 'attach')).toEqual([])
    },
  )

  it('the attach/detach controller reports a Multi-Attach error while the old node uses the volume', () => {
    expect(summary(decide([{ ...old, inUse: true }, next]))).toEqual([
      'requestDetach node-1',
      'recordMultiAttach node-2',
    ])
  })

  it('the attach/detach controller reports no Multi-Attach error during the detach from the old node', () => {
    expect(summary(decide([{ ...old, actual: UNCERTAIN, attachment: 'deleting' }, next]))).toEqual([])
  })

  it('the attach/detach controller reports no Multi-Attach error if the old attachment is unknown', () => {
    const steps = decide([{ ...old, actual: UNCERTAIN, attachment: 'unknown' }, next])
    expect(summary(steps)).toEqual(['readAttachment node-1'])
  })

  it('the attach/detach controller reports a Multi-Attach error only once', () => {
    expect(summary(decide([holds(), { ...next, multiAttachReported: true }]))).toEqual([])
  })

  it('the Multi-Attach error names the nodes that have the volume', () => {
    expect(decide([holds(), next])).toEqual([
      { kind: 'recordMultiAttach', node: 'node-2', pods: [POD], others: ['node-1'] },
    ])
  })

  it('if two nodes need a single-node volume, the attach/detach controller attaches it to only one node', () => {
    expect(summary(decide([wants({ node: 'node-1' }), next]))).toEqual(['attach node-1', 'recordMultiAttach node-2'])
  })
})

describe('multi-node volumes', () => {
  it('the attach/detach controller attaches a multi-node volume to all nodes that need it', () => {
    const steps = decide([holds(), wants({ node: 'node-2' }), wants({ node: 'node-3' })], { multiAttach: true })
    expect(summary(steps)).toEqual(['attach node-2', 'attach node-3'])
  })
})

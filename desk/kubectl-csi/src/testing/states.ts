import {
  CSI_NODES,
  EVENTS,
  type Event,
  LEASES,
  NODES,
  type Node,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { bound, csiNode, pod, pv, pvc, storageClass, va } from '@csi-sidecars/testkit'
import { expect } from '@jest/globals'
import type { SubjectKind } from '../facts/collect.ts'
import { ask, clientOf, explain, STUCK, type Stored, serving } from './ask.ts'
import { ATTACHER_LEASE, ago, lease, RESIZER_LEASE } from './facts.ts'

/** Objects, and a check of the command's answers, for tests of states that block a volume. */

export interface BlockedState {
  readonly objects: readonly Stored[]
  /** The object to explain. */
  readonly of: readonly [SubjectKind, string]
  /** The part of the first line after `waits for` or `has been waiting 5m for`. */
  readonly says: string
  readonly reason: string
  /** The reason and the text in the list of `stuck`, if they differ from those of `explain`. */
  readonly listedAs?: string
  /** True if nothing is wrong and the object only waits for a user. */
  readonly idle?: true
  /** True if the wait has no start time, because the object's `status.phase` has no timestamp. */
  readonly ageless?: true
}

export const { claim, volume } = bound()
export const CLAIM: Stored = [PERSISTENT_VOLUME_CLAIMS, claim]
export const VOLUME: Stored = [PERSISTENT_VOLUMES, volume]
export const CSI_NODE: Stored = [CSI_NODES, csiNode()]
export const NODE: Stored = [NODES, node('node-1', 'True')]
export const CLASS: Stored = [STORAGE_CLASSES, storageClass()]
export const LED: readonly Stored[] = [
  [LEASES, lease(ATTACHER_LEASE)],
  [LEASES, lease(RESIZER_LEASE)],
  [PODS, pod('pod-a', { metadata: { namespace: 'storage' }, spec: { volumes: null } })],
]
/** A healthy volume and the objects around it: its node, its class and the Leases of the leaders. */
export const SOUND: readonly Stored[] = [VOLUME, CSI_NODE, NODE, CLASS, ...LED]

export function node(name: string, ready: string): Node {
  const condition = { type: 'Ready', status: ready, lastTransitionTime: ago(240) }
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { conditions: [condition] } }
}

/** Returns the Node node-1, whose status lists the volume as attached. */
export function reporting(ready: string): Stored {
  const { status, ...rest } = node('node-1', ready)
  const volumesAttached = [{ name: 'kubernetes.io/csi/csi.example.com^vol-1', devicePath: '' }]
  return [NODES, { ...rest, status: { ...status, volumesAttached } }]
}

export const OLD = { creationTimestamp: ago(300) }
export const DELETED = { ...OLD, deletionTimestamp: ago(300) }
export const unbound = (spec = {}): Stored => [
  PERSISTENT_VOLUME_CLAIMS,
  pvc('pvc-1', { metadata: { uid: 'uid-pvc-1', ...OLD }, spec, status: { phase: 'Pending' } }),
]
export const web = (change: Parameters<typeof pod>[1] = {}): Stored => [
  PODS,
  pod('web', { status: { phase: 'Pending' }, ...change, metadata: { uid: 'uid-web', ...OLD, ...change.metadata } }),
]
export const there = (change: Parameters<typeof pod>[1] = {}): Stored => [
  PODS,
  pod('old', { ...change, spec: { nodeName: 'node-2' } }),
]
/** A pod on node-2 that is being deleted. */
export const endingThere = there({ metadata: { deletionTimestamp: ago(200) } })
/** Returns a released volume that its provisioner has to delete. */
export const released = (change: Parameters<typeof pv>[1] = {}): Stored => [
  PERSISTENT_VOLUMES,
  pv('pv-1', {
    ...change,
    metadata: { ...OLD, ...change.metadata },
    spec: { persistentVolumeReclaimPolicy: 'Delete' },
    status: { phase: 'Released', lastPhaseTransitionTime: ago(300), ...change.status },
  }),
]
export const attachment = (change: NonNullable<Parameters<typeof va>[1]> = {}): Stored => [
  VOLUME_ATTACHMENTS,
  va('va-1', { ...change, metadata: { ...OLD, ...change.metadata } }),
]
export const detaching = (change: NonNullable<Parameters<typeof va>[1]> = {}): Stored =>
  attachment({
    ...change,
    metadata: { ...DELETED, finalizers: ['external-attacher/csi-example-com'], ...change.metadata },
  })
export const attachedThere: Stored = [
  VOLUME_ATTACHMENTS,
  va('there', { metadata: OLD, spec: { nodeName: 'node-2' }, status: { attached: true } }),
]
export const growing = (status: object, spec: object = {}): Stored => [
  PERSISTENT_VOLUME_CLAIMS,
  bound({
    claim: {
      metadata: OLD,
      spec: { resources: { requests: { storage: '2Gi' } }, ...spec },
      status: { conditions: [{ type: 'Resizing', status: 'True', lastTransitionTime: ago(300) }], ...status },
    },
  }).claim,
]
/** A claim whose volume has been expanded, but not its file system. */
export const growingOnNode = growing({
  allocatedResourceStatuses: { storage: 'NodeResizePending' },
  conditions: [{ type: 'FileSystemResizePending', status: 'True', lastTransitionTime: ago(300) }],
})
export const modifyingClaim = (modifyVolumeStatus: object | undefined, metadata: object = OLD): Stored => [
  PERSISTENT_VOLUME_CLAIMS,
  bound({
    claim: {
      metadata,
      spec: { volumeAttributesClassName: 'gold' },
      status: {
        ...(modifyVolumeStatus === undefined ? {} : { modifyVolumeStatus }),
        conditions: [{ type: 'ModifyingVolume', status: 'True', lastTransitionTime: ago(300) }],
      },
    },
  }).claim,
]

export function eventAbout(kind: string, name: string, [reason, message]: readonly [string, string]): Stored {
  const namespaced = kind === 'PersistentVolume' ? {} : { namespace: 'default' }
  const event: Event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${reason}`, namespace: 'default' },
    involvedObject: { kind, name, uid: `uid-${name}`, ...namespaced },
    reason,
    message,
    firstTimestamp: ago(300),
    lastTimestamp: ago(3),
    count: 4,
  }
  return [EVENTS, event]
}
export const ofClaim = (reason: string, message: string): Stored =>
  eventAbout('PersistentVolumeClaim', 'pvc-1', [reason, message])
export const ofPod = (reason: string, message: string): Stored => eventAbout('Pod', 'web', [reason, message])

export const provisioning = (message: string): Pick<BlockedState, 'objects' | 'of'> => ({
  of: ['pvc', 'pvc-1'],
  objects: [CLASS, unbound({ storageClassName: 'sc-1' }), ofClaim('ProvisioningFailed', message)],
})
export const unscheduled = (message: string): Pick<BlockedState, 'objects' | 'of' | 'reason'> => ({
  of: ['pod', 'web'],
  reason: 'NotScheduled',
  objects: [...SOUND, CLAIM, web({ spec: { nodeName: null } }), ofPod('FailedScheduling', message)],
})
export const failing = (message: string): Stored =>
  attachment({ status: { attached: false, attachError: { message, time: ago(9) } } })
export const WEBHOOK = 'admission webhook "w.io" denied the request: not today'
export const FORBIDDEN =
  'User "system:sa" cannot patch resource "persistentvolumes" in API group "" at the cluster scope'

interface Item {
  readonly reason: string
  readonly waitsFor: string
}

const aboutOther = / \((?:VolumeAttachment|PersistentVolumeClaim|VolumeSnapshotContent|Pod) [^)]+\)$/

/** The sections of docs/operations.md that may contain the advice, by the start of a test's title. */
const HEADINGS: Readonly<Record<string, RegExp>> = {
  pending: /Pods that wait for volumes/,
  provisioning: /Pods that wait for volumes/,
  scheduling: /Pods that wait for volumes/,
  attaching: /VolumeAttachments|Pods that wait for volumes|Pods of the sidecars/,
  mounting: /Pods that wait for volumes/,
  expanding: /Claims: resizing|Pods that wait for volumes/,
  modifying: /Claims: modifying|Pods that wait for volumes/,
  detaching: /VolumeAttachments|Pods that wait for volumes|Pods of the sidecars|PersistentVolumes/,
  deleting: /PersistentVolumes|Pods that wait for volumes/,
  snapshots: /Snapshots, restores and clones|Pods that wait for volumes|Pods of the sidecars/,
}

/** Runs `explain` and `stuck`, and checks that both report the expected wait. */
export async function checkState(
  title: string,
  { of: [kind, name], objects, says, reason, ...state }: BlockedState,
): Promise<void> {
  const client = clientOf(serving(objects))
  const stuckAfterMs = 120_000
  const { text, first } = await ask(client, explain(kind, name), { stuckAfterMs })
  const since = state.ageless ? 'waits' : 'has been waiting (?:at least )?(?:5m|4m|3m20s)'
  expect(first).toContain(` for ${says}`)
  expect(first).toMatch(new RegExp(`${since} for `))
  expect(text).toContain(state.idle ? '\nUnder way, not stuck yet. ' : '\nStuck. ')
  const [, heading = ''] = /\nWhat to do \(docs\/operations\.md, ([^)]+)\)\n {2}\S/.exec(text) ?? []
  expect(heading).toMatch(HEADINGS[title.split(':')[0] ?? ''] ?? /^$/)
  const stuck = await ask(client, STUCK, { json: true, stuckAfterMs })
  const { items } = JSON.parse(stuck.text) as { items: readonly Item[] }
  // The age decides whether a wait counts as stuck. It must not change the order of the causes.
  for (const threshold of [1_000, 180_000, 600_000]) {
    expect(await ask(client, explain(kind, name), { stuckAfterMs: threshold })).toMatchObject({ first })
  }
  const { text: json } = await ask(client, explain(kind, name), { json: true, stuckAfterMs })
  for (const { evidence } of (JSON.parse(json) as { findings: readonly { evidence: readonly object[] }[] }).findings) {
    const entries = evidence.map((entry) => JSON.stringify(entry))
    expect(entries).toEqual([...new Set(entries)])
  }
  const found = items.map((item) => `${item.reason}: ${item.waitsFor}`)
  const expected = state.listedAs ?? `${reason}: ${says.replace(aboutOther, '')}`
  if (state.idle) expect(found).not.toContain(expected)
  else expect(found).toContain(expected)
}

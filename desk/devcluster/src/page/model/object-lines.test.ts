import {
  attachment,
  boundPair,
  claim,
  content,
  DRIVER,
  node,
  pod,
  snapshot,
  volume,
} from '@csi-sidecars/volume-controllers/testing/objects'
import { describe, expect, it } from '@jest/globals'
import type { ObjectEvent } from '../../story/cluster-event.ts'
import { objectLine } from './object-lines.ts'

type Kind = ObjectEvent['kind']

function line(kind: Kind, before: object | undefined, after: object | undefined): string | undefined {
  const reported = objectLine({ kind, before, after } as ObjectEvent)
  return reported && `${reported.bad ? '! ' : ''}${reported.who}: ${reported.text}`
}

const { claim: bound } = boundPair()
const created = volume({ annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER } })
const NAME = `kubernetes.io/csi/${DRIVER}^handle`
const using = node({ volumesInUse: [NAME] })

describe('objectLine', () => {
  const rows: [string, Kind, object | undefined, object | undefined, string | undefined][] = [
    ['a new claim', 'claim', undefined, claim(), 'you: claim data created: 1Gi of class fast'],
    ['a claim that is bound', 'claim', claim(), bound, 'persistent-volume: claim data Bound to pv-1'],
    ['a lost claim', 'claim', bound, { ...bound, phase: 'Lost' }, '! persistent-volume: claim data Lost'],
    ['a larger request of a claim', 'claim', bound, { ...bound, request: '2Gi' }, 'you: claim data asks for 2Gi'],
    ['a requested class', 'claim', bound, { ...bound, attributesClass: 'gold' }, 'you: claim data asks for class gold'],
    [
      'a claim that has its new class',
      'claim',
      bound,
      { ...bound, currentAttributesClass: 'gold' },
      'csi-resizer: claim data is of class gold',
    ],
    [
      'the resize of a claim',
      'claim',
      bound,
      { ...bound, resizeStatus: 'ControllerResizeInProgress' },
      'csi-resizer: claim data ControllerResizeInProgress',
    ],
    [
      'an infeasible resize of a claim',
      'claim',
      bound,
      { ...bound, resizeStatus: 'NodeResizeInfeasible' },
      '! kubelet: claim data NodeResizeInfeasible',
    ],
    ['the new capacity of a claim', 'claim', bound, { ...bound, capacity: '2Gi' }, 'csi-resizer: claim data has 2Gi'],
    [
      'a claim whose file system has grown',
      'claim',
      { ...bound, resizeStatus: 'NodeResizePending' },
      { ...bound, capacity: '2Gi' },
      'kubelet: claim data has 2Gi',
    ],
    [
      'the node for which a claim is provisioned',
      'claim',
      claim(),
      claim({ annotations: { 'volume.kubernetes.io/selected-node': 'node-1' } }),
      'scheduler: claim data is to be provisioned for node-1',
    ],
    ['a claim that is being deleted', 'claim', bound, { ...bound, deleting: true }, 'you: claim data deleted'],
    ['a claim that is gone', 'claim', bound, undefined, 'persistent-volume: claim data gone'],
    ['no claim whose fields are unchanged', 'claim', bound, { ...bound, resourceVersion: '2' }, undefined],
    [
      'a volume that was created',
      'volume',
      undefined,
      created,
      'csi-provisioner: PersistentVolume pv-1 of 1Gi created',
    ],
    ['a volume that a user created', 'volume', undefined, volume(), 'you: PersistentVolume pv-1 of 1Gi created'],
    [
      'the phase of a volume',
      'volume',
      created,
      { ...created, phase: 'Failed' },
      '! persistent-volume: PersistentVolume pv-1 Failed',
    ],
    ['a larger PV', 'volume', created, { ...created, capacity: '2Gi' }, 'csi-resizer: PersistentVolume pv-1 has 2Gi'],
    [
      'the class of a volume',
      'volume',
      created,
      { ...created, attributesClass: 'gold' },
      'csi-resizer: PersistentVolume pv-1 is of class gold',
    ],
    ['the end of a volume', 'volume', created, undefined, 'csi-provisioner: PersistentVolume pv-1 gone'],
    ['a new snapshot', 'snapshot', undefined, snapshot(), 'you: snapshot backup of claim data created'],
    [
      'a snapshot that is ready',
      'snapshot',
      snapshot(),
      snapshot({ readyToUse: true }),
      'snapshot-controller: snapshot backup ready to use',
    ],
    [
      'a snapshot that fails',
      'snapshot',
      snapshot(),
      snapshot({ error: 'no room' }),
      '! csi-snapshotter: snapshot backup is not taken: no room',
    ],
    ['a deleted snapshot', 'snapshot', snapshot(), snapshot({ deleting: true }), 'you: snapshot backup deleted'],
    ['the end of a snapshot', 'snapshot', snapshot(), undefined, 'snapshot-controller: snapshot backup gone'],
    [
      'a new VolumeSnapshotContent',
      'content',
      undefined,
      content(),
      'snapshot-controller: VolumeSnapshotContent of default/backup created',
    ],
    [
      'the end of a VolumeSnapshotContent',
      'content',
      content(),
      undefined,
      'csi-snapshotter: VolumeSnapshotContent of default/backup gone',
    ],
    ['a new pod', 'pod', undefined, pod({ nodeName: '' }), 'you: pod app created'],
    ['the node of a pod', 'pod', pod({ nodeName: '' }), pod(), 'scheduler: pod app scheduled to node-1'],
    ['the start of a pod', 'pod', pod(), pod({ phase: 'Running' }), 'kubelet/node-1: pod app Running'],
    ['the deletion of a pod', 'pod', pod(), pod({ deleting: true }), 'you: pod app deleted'],
    ['the end of a pod', 'pod', pod(), undefined, 'kubelet/node-1: pod app gone'],
    [
      'a new VolumeAttachment',
      'attachment',
      undefined,
      attachment(),
      'attach-detach: VolumeAttachment of pv-1 to node-1 created',
    ],
    [
      'the success of an attachment',
      'attachment',
      attachment(),
      attachment({ attached: true }),
      'csi-attacher: pv-1 is attached to node-1',
    ],
    [
      'the failure of an attachment',
      'attachment',
      attachment(),
      attachment({ attachError: 'no' }),
      '! csi-attacher: pv-1 is not attached to node-1: no',
    ],
    [
      'the deletion of an attachment',
      'attachment',
      attachment(),
      attachment({ deleting: true }),
      'attach-detach: VolumeAttachment of pv-1 to node-1 deleted',
    ],
    [
      'a detach that fails',
      'attachment',
      attachment({ deleting: true }),
      attachment({ deleting: true, detachError: 'no' }),
      '! csi-attacher: pv-1 is not detached from node-1: no',
    ],
    ['an ended detach', 'attachment', attachment(), undefined, 'csi-attacher: VolumeAttachment of pv-1 to node-1 gone'],
    ['a node that is not ready', 'node', node(), node({ ready: false }), '! kubelet/node-1: node-1 is not ready'],
    ['a cordoned node', 'node', node(), node({ unschedulable: true }), 'you: node-1 cordoned'],
    [
      'a volume that a node reports as attached',
      'node',
      node(),
      node({ volumesAttached: [{ name: NAME, devicePath: '' }] }),
      'attach-detach: node-1 reports handle as attached',
    ],
    ['a volume that a node uses', 'node', node(), using, 'kubelet/node-1: node-1 says that it uses handle'],
    ['a volume no longer in use', 'node', using, node(), 'kubelet/node-1: node-1 says that it uses handle no more'],
    ['no node whose fields are unchanged', 'node', node(), node({ labels: {} }), undefined],
  ]
  it.each(rows)('the time line shows %s', (_, is, before, after, expected) => {
    expect(line(is, before, after)).toBe(expected)
  })
})

import { attachment, boundPair, claim } from '@csi-sidecars/volume-controllers/testing/objects'
import { describe, expect, it } from '@jest/globals'
import { fails, REPORTED, RUNNING, rowView, waits } from '../../testing/row-views.ts'
import { rowOf } from './rows.ts'
import type { RowView } from './waits.ts'

const { claim: bound } = boundPair()
const reported = (reason: string): Partial<RowView> => ({
  volume: undefined,
  binding: { type: 'Normal', reason, message: 'message' },
})
const pending = (change = {}) => claim({ phase: 'Pending', ...change })
const growing = (resizeStatus: string | undefined) => boundPair({ claim: { request: '2Gi', resizeStatus } }).claim
const attached = attachment({ attached: true })

describe('waitsOf', () => {
  const rows: [string, Partial<RowView>, string[]][] = [
    ['for nothing when it has its desired state', {}, []],
    [
      'for a class when a claim names none and there is no default',
      { claim: pending({ className: undefined }), ...reported('FailedBinding') },
      ['trouble: claim data: you: it names no class, there is no default class, and no free volume fits | message'],
    ],
    [
      'for a class that does not exist',
      { claim: pending({ className: 'gone' }), ...reported('ProvisioningFailed') },
      ['trouble: claim data: you: class gone cannot create a volume | message'],
    ],
    [
      'for its first pod',
      { claim: pending(), ...reported('WaitForFirstConsumer') },
      ['waits: claim data: you: its class creates no volume before a pod uses the claim | message'],
    ],
    [
      "for its pod's node",
      { claim: pending(), ...reported('WaitForPodScheduled') },
      ['works: claim data: scheduler: chooses a node for its pod first | message'],
    ],
    [
      'for its volume to be created',
      { claim: pending(), ...reported('ExternalProvisioning') },
      ['works: claim data: csi-provisioner: creates volume pvc-uid-data | message'],
    ],
    [
      'for a driver that creates no volume',
      { claim: pending(), ...reported('ExternalProvisioning'), failure: fails('CreateVolume') },
      ['trouble: claim data: csi-provisioner: the driver creates no volume | CreateVolume: Internal: no (2 times)'],
    ],
    [
      'for a volume that belongs to another claim',
      { claim: pending({ volumeName: 'pv-9' }), ...reported('FailedBinding') },
      ['trouble: claim data: you: volume pv-9 belongs to another claim | message'],
    ],
    [
      'for a volume that does not fit',
      { claim: pending({ volumeName: 'pv-9' }), ...reported('VolumeMismatch') },
      ['trouble: claim data: you: volume pv-9 does not fit | message'],
    ],
    [
      'for a volume that does not exist',
      { claim: pending({ volumeName: 'pv-9' }), volume: undefined },
      ['waits: claim data: persistent-volume: volume pv-9 is not there'],
    ],
    ['to be bound', { claim: pending() }, ['works: claim data: persistent-volume: binds it']],
    [
      'for its volume, with any other message of the PV controller',
      { claim: pending(), ...reported('Other') },
      ['waits: claim data: persistent-volume: it has no volume yet | message'],
    ],
    [
      'forever when it has lost its volume',
      { claim: claim({ phase: 'Lost' }), volume: undefined },
      ['trouble: claim data: persistent-volume: its volume is gone, and the data with it'],
    ],
    [
      'for the pods that use it before it is deleted',
      { claim: { ...bound, deleting: true }, pods: [RUNNING] },
      ['waits: claim data: persistent-volume: pods still use it: app'],
    ],
    ['to be deleted', { claim: { ...bound, deleting: true } }, ['works: claim data: persistent-volume: deletes it']],
    ['to be expanded', { claim: growing(undefined) }, ['works: claim data: csi-resizer: expands it from 1Gi to 2Gi']],
    [
      'for a driver that does not expand it',
      { claim: growing('ControllerResizeInProgress'), failure: fails('ControllerExpandVolume') },
      [
        'trouble: claim data: csi-resizer: the driver does not expand it from 1Gi to 2Gi | ControllerExpandVolume: Internal: no (2 times)',
      ],
    ],
    [
      'for an expansion that the driver cannot do',
      { claim: growing('ControllerResizeInfeasible') },
      ['trouble: claim data: csi-resizer: the driver cannot expand it from 1Gi to 2Gi'],
    ],
    [
      'for a pod whose node expands its file system',
      { claim: growing('NodeResizePending') },
      ['waits: claim data: you: its file system grows when a pod uses it'],
    ],
    [
      'for the kubelet that expands its file system',
      { claim: growing('NodeResizePending'), pods: [RUNNING], attachments: [attached], ...REPORTED },
      ['works: claim data: kubelet/node-1: expands its file system from 1Gi to 2Gi'],
    ],
    [
      'for a node that fails to expand its file system',
      {
        ...{ claim: growing('NodeResizeInProgress'), pods: [RUNNING], attachments: [attached], ...REPORTED },
        failure: fails('NodeExpandVolume'),
      },
      [
        'trouble: claim data: kubelet/node-1: the file system is not expanded | NodeExpandVolume: Internal: no (2 times)',
      ],
    ],
    [
      'for a node that cannot expand its file system',
      { claim: growing('NodeResizeInfeasible') },
      ['trouble: claim data: you: the node cannot expand its file system'],
    ],
    [
      'for the modification to another class',
      { claim: boundPair({ claim: { attributesClass: 'gold' } }).claim },
      ['works: claim data: csi-resizer: changes its class to gold'],
    ],
    [
      'for a driver that does not change the class',
      { claim: boundPair({ claim: { attributesClass: 'gold' } }).claim, failure: fails('ControllerModifyVolume') },
      [
        'trouble: claim data: csi-resizer: the driver does not change its class to gold | ControllerModifyVolume: Internal: no (2 times)',
      ],
    ],
  ]
  it.each(rows)('the page shows that a claim waits %s', (_, change, expected) => {
    expect(waits(change)).toEqual(expected)
  })

  it('a claim keeps the start of its wait if only the message changes', () => {
    const broken = { claim: pending(), ...reported('ExternalProvisioning'), failure: fails('CreateVolume') }
    const first = rowOf('x', rowView(broken), { before: undefined, now: 7 })
    const laterRow = rowOf(
      'x',
      rowView({ ...broken, failure: () => ({ method: 'CreateVolume', code: 'Aborted', message: '', times: 1 }) }),
      {
        before: first,
        now: 9,
      },
    )
    expect(laterRow?.waits).toMatchObject([{ since: 7, message: 'CreateVolume: Aborted' }])
    const other = rowOf('x', rowView({ claim: pending() }), { before: first, now: 9 })
    expect(other?.waits).toMatchObject([{ since: 9 }])
  })
})

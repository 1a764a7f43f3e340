import { attachment, boundPair, claim, pod } from '@csi-sidecars/volume-controllers/testing/objects'
import { describe, expect, it } from '@jest/globals'
import { fails, REPORTED, REPORTED_ILL, RUNNING, waits } from '../../testing/row-views.ts'
import type { RowView } from './waits.ts'

const { volume: pv } = boundPair()
const pending = () => claim({ phase: 'Pending' })
const app = pod()
const two = pod({ name: 'two', nodeName: 'node-2' })
const attached = attachment({ attached: true })

describe('waitsOf', () => {
  const rows: [string, Partial<RowView>, string[]][] = [
    [
      'a claim that does not exist',
      { claim: undefined, volume: undefined, pods: [app] },
      ['trouble: pod app: you: claim default/data does not exist'],
    ],
    ['a node', { pods: [pod({ nodeName: '' })] }, ['works: pod app: scheduler: chooses a node for it']],
    [
      'a node that fits',
      { pods: [pod({ nodeName: '' })], warning: () => '0/2 nodes' },
      ['trouble: pod app: scheduler: no node will do | 0/2 nodes'],
    ],
    [
      'the volume of its claim before it gets a node',
      { claim: pending(), volume: undefined, pods: [pod({ nodeName: '' })] },
      ['works: claim data: persistent-volume: binds it', 'waits: pod app: scheduler: claim data has no volume yet'],
    ],
    [
      'the volume of its claim',
      { claim: pending(), volume: undefined, pods: [app] },
      [
        'works: claim data: persistent-volume: binds it',
        'waits: pod app: kubelet/node-1: claim data has no volume yet',
      ],
    ],
    [
      'the VolumeAttachment of its volume',
      { pods: [app] },
      ['works: pod app: attach-detach: asks for the volume on node-1'],
    ],
    [
      'its volume to be attached',
      { pods: [app], attachments: [attachment()] },
      ['works: pod app: csi-attacher: attaches the volume to node-1'],
    ],
    [
      'a driver that does not attach',
      { pods: [app], attachments: [attachment()], failure: fails('ControllerPublishVolume') },
      [
        'trouble: pod app: csi-attacher: the driver does not attach the volume to node-1 | ControllerPublishVolume: Internal: no (2 times)',
      ],
    ],
    [
      'a volume that cannot be attached, with the error of the VolumeAttachment',
      { pods: [app], attachments: [attachment({ attachError: 'not found' })] },
      ['trouble: pod app: csi-attacher: the volume cannot be attached to node-1 | not found'],
    ],
    [
      'the report of its node that the volume is attached',
      { pods: [app], attachments: [attached] },
      ['works: pod app: attach-detach: reports on node-1 that the volume is attached'],
    ],
    [
      'an earlier detach from its node',
      { pods: [app], attachments: [attachment({ attached: true, deleting: true })] },
      ['works: pod app: csi-attacher: an earlier attachment to this node has to end first'],
    ],
    [
      'its mount',
      { pods: [app], attachments: [attached], ...REPORTED },
      ['works: pod app: kubelet/node-1: mounts the volume on node-1'],
    ],
    [
      'a driver that does not mount',
      { pods: [app], attachments: [attached], ...REPORTED, failure: fails('NodePublishVolume') },
      [
        'trouble: pod app: kubelet/node-1: the driver does not mount the volume on node-1 | NodePublishVolume: Internal: no (2 times)',
      ],
    ],
    [
      'a node that is not ready',
      {
        ...{ pods: [app], attachments: [attached] },
        ...REPORTED_ILL,
      },
      ['trouble: pod app: kubelet/node-1: node-1 is not ready'],
    ],
    [
      'its mount, without an attach, if the driver does not support attach',
      { pods: [app], attaches: false },
      ['works: pod app: kubelet/node-1: mounts the volume on node-1'],
    ],
    [
      'another pod, since the volume is for one node at a time',
      { pods: [RUNNING, two], attachments: [attached] },
      [
        'trouble: pod two: attach-detach: Multi-Attach: the volume is for one node at a time, and pod app uses it on node-1',
      ],
    ],
    [
      'no other pod if the volume is ReadWriteMany',
      { pods: [RUNNING, two], attachments: [attached], volume: { ...pv, accessModes: ['ReadWriteMany'] } },
      ['works: pod two: attach-detach: asks for the volume on node-2'],
    ],
    [
      'the old node to unmount',
      { pods: [{ ...RUNNING, deleting: true, containersRun: true }, two], attachments: [attached] },
      [
        'works: pod app: kubelet/node-1: ends it and unmounts its volume',
        'works: pod two: kubelet/node-1: unmounts the volume on node-1 first',
      ],
    ],
    [
      'the detach from the old node',
      { pods: [two], attachments: [attachment({ attached: true, deleting: true })] },
      [
        'works: volume pv-1 on node-1: csi-attacher: detaches it from node-1',
        'works: pod two: csi-attacher: the volume is detached from node-1 first',
      ],
    ],
    [
      'a driver that does not unmount',
      {
        pods: [{ ...RUNNING, deleting: true, containersRun: true }],
        attachments: [attached],
        failure: fails('NodeUnpublishVolume'),
      },
      ['trouble: pod app: kubelet/node-1: the volume is not unmounted | NodeUnpublishVolume: Internal: no (2 times)'],
    ],
    ['nothing when it runs', { pods: [RUNNING], attachments: [attached] }, []],
    ['nothing when it has ended', { pods: [pod({ phase: 'Succeeded' })] }, []],
  ]
  it.each(rows)('the page shows that a pod waits for %s', (_, change, expected) => {
    expect(waits(change)).toEqual(expected)
  })
})

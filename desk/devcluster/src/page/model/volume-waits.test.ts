import { attachment, volume } from '@csi-sidecars/volume-controllers/testing/objects'
import { describe, expect, it } from '@jest/globals'
import { fails, IN_USE, waits } from '../../testing/row-views.ts'
import type { RowView } from './waits.ts'

const attached = attachment({ attached: true })

describe('waitsOf', () => {
  const released = { claimKey: undefined, claim: undefined, volume: volume({ phase: 'Released' }) }
  const rows: [string, Partial<RowView>, string[]][] = [
    ['its deletion', released, ['works: volume pv-1: csi-provisioner: deletes it']],
    [
      'a driver that does not delete it',
      { ...released, failure: fails('DeleteVolume') },
      ['trouble: volume pv-1: csi-provisioner: the driver does not delete it | DeleteVolume: Internal: no (2 times)'],
    ],
    [
      'a user who deletes it, if its reclaim policy is Retain',
      { ...released, volume: volume({ phase: 'Released', reclaimPolicy: 'Retain' }) },
      ['waits: volume pv-1: you: its claim is gone, and its reclaim policy Retain keeps it'],
    ],
    [
      'its deletion, which has failed',
      { ...released, volume: volume({ phase: 'Failed' }) },
      ['trouble: volume pv-1: csi-provisioner: it cannot be deleted'],
    ],
    [
      'the deletion of its VolumeAttachment',
      { attachments: [attached] },
      ['works: volume pv-1 on node-1: attach-detach: asks for its detach from node-1'],
    ],
    [
      'a node that still uses it',
      { attachments: [attached], ...IN_USE },
      ['works: volume pv-1 on node-1: kubelet/node-1: unmounts it on node-1'],
    ],
    [
      'a driver that does not detach it',
      { attachments: [attachment({ attached: true, deleting: true })], failure: fails('ControllerUnpublishVolume') },
      [
        'trouble: volume pv-1 on node-1: csi-attacher: the driver does not detach the volume from node-1 | ControllerUnpublishVolume: Internal: no (2 times)',
      ],
    ],
    [
      'a detach that fails, with the error of the VolumeAttachment',
      { attachments: [attachment({ attached: true, deleting: true, detachError: 'busy' })] },
      ['trouble: volume pv-1 on node-1: csi-attacher: the driver does not detach the volume from node-1 | busy'],
    ],
  ]
  it.each(rows)('the page shows that a volume waits for %s', (_, change, expected) => {
    expect(waits(change)).toEqual(expected)
  })
})

import { describe, expect, it } from '@jest/globals'
import { attachment, claim, DRIVER, refTo, volume } from '../testing/objects.ts'
import { decideReclaim, type ReclaimView } from './reclaim.ts'

const released = volume({
  phase: 'Released',
  claimRef: refTo(claim()),
  annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER },
  finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'],
})

const view = (change: Partial<ReclaimView> = {}): ReclaimView => ({
  volume: released,
  attachments: [],
  driverName: DRIVER,
  ...change,
})

describe('decideReclaim', () => {
  const rows: [string, Partial<ReclaimView>, 'nothing' | 'wait' | 'delete'][] = [
    ['deletes what it provisioned once it is released', {}, 'delete'],
    ['keeps what is bound', { volume: { ...released, phase: 'Bound' } }, 'nothing'],
    ['keeps what is to be kept', { volume: { ...released, reclaimPolicy: 'Retain' } }, 'nothing'],
    ['keeps what another has provisioned', { driverName: 'other' }, 'nothing'],
    ['keeps what was not provisioned', { volume: { ...released, annotations: {} } }, 'nothing'],
    ['waits for the detach', { attachments: [attachment()] }, 'wait'],
    ['finishes one that is being deleted', { volume: { ...released, deleting: true } }, 'delete'],
    [
      'is through with one that lost its finalizer',
      { volume: { ...released, deleting: true, finalizers: [] } },
      'nothing',
    ],
  ]
  it.each(rows)('%s', (_, change, done) => {
    expect(decideReclaim(view(change)).do).toBe(done)
  })

  it('names the awaited event', () => {
    expect(decideReclaim(view({ attachments: [attachment({ nodeName: 'node-7' })] }))).toMatchObject({
      message: 'persistentvolume pv-1 is still attached to node node-7',
    })
  })

  it('deletes with the secret that the volume names', () => {
    const annotations = {
      ...released.annotations,
      'volume.kubernetes.io/provisioner-deletion-secret-name': 's',
      'volume.kubernetes.io/provisioner-deletion-secret-namespace': 'n',
    }
    expect(decideReclaim(view({ volume: { ...released, annotations } }))).toEqual({
      do: 'delete',
      volumeHandle: 'handle-pv-1',
      secret: { name: 's', namespace: 'n' },
    })
  })
})

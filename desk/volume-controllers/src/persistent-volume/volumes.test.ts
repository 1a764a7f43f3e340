import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import { boundPair, claim, DRIVER, refTo, reservedFor, volume } from '../testing/objects.ts'
import { decideVolume, type VolumeStep } from './volumes.ts'

const PROVISIONED_BY = { 'pv.kubernetes.io/provisioned-by': DRIVER }
const OURS = { 'pv.kubernetes.io/bound-by-controller': 'yes' }

const summary = (steps: readonly VolumeStep[]): string[] =>
  steps.map((step) => {
    switch (step.kind) {
      case 'lookAtClaim':
        return `look at ${step.key}`
      case 'recordOnVolume':
      case 'recordOnClaim':
        return `${step.kind} ${step.event.reason}`
      default:
        return `${step.kind} ${JSON.stringify(step.patch.body)}`
    }
  })

const phase = (name: string): string => `patchVolumeStatus {"status":{"phase":"${name}","message":null}}`

describe('decideVolume', () => {
  const volumesClaim = claim({ volumeName: 'pv-1' })
  const rows: { name: string; volume: Partial<Volume>; claim?: Claim; done: string[] }[] = [
    { name: 'makes a new volume available', volume: { phase: 'Pending' }, done: [phase('Available')] },
    { name: 'does nothing for an available volume', volume: {}, done: [] },
    {
      name: 'makes a volume available that is reserved only by name',
      volume: { phase: 'Pending', claimRef: reservedFor(volumesClaim) },
      claim: volumesClaim,
      done: [phase('Available')],
    },
    {
      name: 'sets the phase of a bound volume',
      volume: { phase: 'Available', claimRef: refTo(volumesClaim) },
      claim: volumesClaim,
      done: [phase('Bound')],
    },
    {
      name: 'enqueues the claim if only the volume is written',
      volume: { phase: 'Bound', claimRef: refTo(volumesClaim) },
      claim: claim(),
      done: ['look at default/data'],
    },
    {
      name: 'records events if the volume modes of the claim and the volume differ',
      volume: { claimRef: refTo(volumesClaim), volumeMode: 'Block' },
      claim: claim(),
      done: ['recordOnVolume VolumeMismatch', 'recordOnClaim VolumeMismatch'],
    },
    {
      name: 'releases a volume whose claim is gone',
      volume: { phase: 'Bound', claimRef: refTo(volumesClaim) },
      done: [phase('Released')],
    },
    {
      name: 'releases a volume whose claim was recreated',
      volume: { phase: 'Bound', claimRef: { ...refTo(volumesClaim), uid: 'uid-of-old' } },
      claim: volumesClaim,
      done: [phase('Released')],
    },
    {
      name: 'does nothing for a released volume with the policy Retain',
      volume: { phase: 'Released', claimRef: refTo(volumesClaim), reclaimPolicy: 'Retain' },
      done: [],
    },
    {
      name: 'leaves the deletion of a released volume to its provisioner',
      volume: { phase: 'Released', claimRef: refTo(volumesClaim), annotations: PROVISIONED_BY },
      done: [],
    },
    {
      name: 'fails a volume with the policy Recycle',
      volume: { phase: 'Released', claimRef: refTo(volumesClaim), reclaimPolicy: 'Recycle' },
      done: [
        'patchVolumeStatus {"status":{"phase":"Failed","message":"No recycler plugin found for the volume!"}}',
        'recordOnVolume VolumeFailedRecycle',
      ],
    },
    {
      name: 'keeps the phase of a failed volume',
      volume: { phase: 'Failed', claimRef: refTo(volumesClaim) },
      done: [],
    },
    {
      name: 'releases a provisioned volume whose claim is bound to another volume',
      volume: { phase: 'Bound', claimRef: refTo(volumesClaim), annotations: { ...PROVISIONED_BY, ...OURS } },
      claim: claim({ volumeName: 'pv-2' }),
      done: [phase('Released')],
    },
    {
      name: 'frees a volume that the controller bound if its claim is bound to another volume',
      volume: { phase: 'Bound', claimRef: refTo(volumesClaim), annotations: OURS },
      claim: claim({ volumeName: 'pv-2' }),
      done: [
        'patchVolume {"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/bound-by-controller":null}},"spec":{"claimRef":null}}',
        phase('Available'),
      ],
    },
    {
      name: 'removes only the UID of the claim reference if the user reserved the volume',
      volume: { phase: 'Bound', claimRef: refTo(volumesClaim) },
      claim: claim({ volumeName: 'pv-2' }),
      done: ['patchVolume {"metadata":{"resourceVersion":"1"},"spec":{"claimRef":{"uid":null}}}', phase('Available')],
    },
  ]
  it.each(rows)('the persistent volume controller $name', (row) => {
    expect(summary(decideVolume({ volume: volume(row.volume), claim: row.claim }))).toEqual(row.done)
  })

  it('a completely bound volume needs no step', () => {
    expect(decideVolume(boundPair())).toEqual([])
  })
})

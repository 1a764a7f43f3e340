import { describe, expect, it } from '@jest/globals'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { boundPair, claim, DRIVER, pod, refTo, reservedFor, volume } from '../testing/objects.ts'
import { decideVolume, type VolumeStep } from './volumes.ts'

const PROVISIONED = { 'pv.kubernetes.io/provisioned-by': DRIVER }
const OURS = { 'pv.kubernetes.io/bound-by-controller': 'yes' }

const summary = (steps: readonly VolumeStep[]): string[] =>
  steps.map((step) => {
    switch (step.do) {
      case 'lookAtClaim':
        return `look at ${step.key}`
      case 'recordOnVolume':
      case 'recordOnClaim':
        return `${step.do} ${step.event.reason}`
      case 'remove':
      case 'scrub':
      case 'endScrub':
        return step.do
      default:
        return `${step.do} ${JSON.stringify(step.patch.body)}`
    }
  })

const phase = (name: string): string => `patchVolumeStatus {"status":{"phase":"${name}","message":null}}`

describe('decideVolume', () => {
  const own = claim({ volumeName: 'pv-1' })
  const rows: {
    name: string
    volume: Partial<Volume>
    claim?: Claim
    begun?: string
    scrubber?: CachedPod
    done: string[]
  }[] = [
    { name: 'makes a new volume available', volume: { phase: 'Pending' }, done: [phase('Available')] },
    { name: 'leaves an available one alone', volume: {}, done: [] },
    {
      name: 'makes one available that is reserved by name only',
      volume: { phase: 'Pending', claimRef: reservedFor(own) },
      claim: own,
      done: [phase('Available')],
    },
    {
      name: 'keeps the phase of a bound one',
      volume: { phase: 'Available', claimRef: refTo(own) },
      claim: own,
      done: [phase('Bound')],
    },
    {
      name: "leaves the claim's half to the claim worker",
      volume: { phase: 'Bound', claimRef: refTo(own) },
      claim: claim(),
      done: ['look at default/data'],
    },
    {
      name: 'records on both when their volume modes differ',
      volume: { claimRef: refTo(own), volumeMode: 'Block' },
      claim: claim(),
      done: ['recordOnVolume VolumeMismatch', 'recordOnClaim VolumeMismatch'],
    },
    {
      name: 'releases one whose claim is gone',
      volume: { phase: 'Bound', claimRef: refTo(own) },
      done: [phase('Released')],
    },
    {
      name: 'releases one whose claim was recreated under its name',
      volume: { phase: 'Bound', claimRef: { ...refTo(own), uid: 'uid-of-old' } },
      claim: own,
      done: [phase('Released')],
    },
    {
      name: 'does nothing more for one that is to be kept',
      volume: { phase: 'Released', claimRef: refTo(own), reclaimPolicy: 'Retain' },
      done: [],
    },
    {
      name: 'leaves the deletion to who provisioned it',
      volume: { phase: 'Released', claimRef: refTo(own), annotations: PROVISIONED },
      done: [],
    },
    {
      name: 'fails one that cannot be deleted',
      volume: { phase: 'Bound', claimRef: refTo(own), csi: undefined, inTree: { is: 'other' } },
      done: [
        phase('Released'),
        'patchVolumeStatus {"status":{"phase":"Failed","message":"error getting deleter volume plugin for volume \\"pv-1\\": ' +
          'no volume plugin matched"}}',
        'recordOnVolume VolumeFailedDelete',
      ],
    },
    {
      name: 'fails one that cannot be recycled',
      volume: { phase: 'Released', claimRef: refTo(own), reclaimPolicy: 'Recycle' },
      done: [
        'patchVolumeStatus {"status":{"phase":"Failed","message":"No recycler plugin found for the volume!"}}',
        'recordOnVolume VolumeFailedRecycle',
      ],
    },
    {
      name: 'frees one that was scrubbed',
      volume: { phase: 'Failed', claimRef: refTo(own), reclaimPolicy: 'Recycle', annotations: OURS },
      begun: 'uid-app',
      scrubber: pod({ phase: 'Succeeded' }),
      done: [
        'endScrub',
        'recordOnVolume VolumeRecycled',
        'patchVolume {"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/bound-by-controller":null}},"spec":{"claimRef":null}}',
        phase('Available'),
      ],
    },
    {
      name: 'removes one of a host path',
      volume: { phase: 'Released', claimRef: refTo(own), csi: undefined, inTree: { is: 'hostPath', path: '/tmp/x' } },
      done: ['remove'],
    },
    {
      name: 'marks one of a migrated plugin before anything else',
      volume: { phase: 'Pending', annotations: { 'pv.kubernetes.io/provisioned-by': 'kubernetes.io/aws-ebs' } },
      done: [
        'patchVolume {"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/migrated-to":"ebs.csi.aws.com"}}}',
      ],
    },
    { name: 'does not write over a failure', volume: { phase: 'Failed', claimRef: refTo(own) }, done: [] },
    {
      name: 'releases one that was provisioned for a claim that found another',
      volume: { phase: 'Bound', claimRef: refTo(own), annotations: { ...PROVISIONED, ...OURS } },
      claim: claim({ volumeName: 'pv-2' }),
      done: [phase('Released')],
    },
    {
      name: 'frees one that we bound to a claim that found another',
      volume: { phase: 'Bound', claimRef: refTo(own), annotations: OURS },
      claim: claim({ volumeName: 'pv-2' }),
      done: [
        'patchVolume {"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/bound-by-controller":null}},"spec":{"claimRef":null}}',
        phase('Available'),
      ],
    },
    {
      name: "gives back only the uid of a reservation of the user's",
      volume: { phase: 'Bound', claimRef: refTo(own) },
      claim: claim({ volumeName: 'pv-2' }),
      done: ['patchVolume {"metadata":{"resourceVersion":"1"},"spec":{"claimRef":{"uid":null}}}', phase('Available')],
    },
  ]
  it.each(rows)('$name', (row) => {
    const { begun, scrubber } = row
    const view = { volume: volume(row.volume), claim: row.claim, users: [], begun, scrubber }
    expect(summary(decideVolume(view))).toEqual(row.done)
  })

  it('returns no steps for a complete binding', () => {
    expect(decideVolume({ ...boundPair(), users: [], begun: undefined, scrubber: undefined })).toEqual([])
  })
})

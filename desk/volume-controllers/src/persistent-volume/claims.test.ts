import { describe, expect, it } from '@jest/globals'
import { boundPair, claim, DRIVER, refTo, reservedFor, storageClass, volume } from '../testing/objects.ts'
import { type ClaimBindingView, type ClaimStep, decideClaim } from './claims.ts'

const view = (change: Partial<ClaimBindingView> = {}): ClaimBindingView => ({
  claim: claim(),
  named: undefined,
  volumes: [],
  storageClass: storageClass(),
  defaultClass: undefined,
  waitingPods: [],
  ...change,
})

/** Returns the writes, the events and the failures of a plan as texts. */
const summary = (steps: readonly ClaimStep[]): string[] =>
  steps.map((step) => {
    if (step.kind === 'report') return `${step.event.reason}: ${step.event.message}`
    if (step.kind === 'fail') return `fail: ${step.message}`
    return `${step.kind} ${JSON.stringify(step.patch.body)}`
  })

const BIND = ['patchVolume', 'patchVolumeStatus', 'patchClaim', 'patchClaimStatus']
const whatIsDone = (steps: readonly ClaimStep[]): string[] =>
  steps.map((step) => (step.kind === 'report' ? step.event.reason : step.kind))

describe('unbound claims', () => {
  const rows: { name: string; view: Partial<ClaimBindingView>; done: string[] }[] = [
    { name: 'gets a volume that fits', view: { volumes: [volume()] }, done: BIND },
    {
      name: 'gets the volume that it names',
      view: { claim: claim({ volumeName: 'pv-1' }), named: volume() },
      done: BIND,
    },
    {
      name: 'gets a volume that is reserved for it by name',
      view: { volumes: [volume({ claimRef: reservedFor(claim()) })] },
      done: BIND,
    },
    {
      name: 'gets the volume that it names if it is reserved for the claim, even if it is too small',
      view: {
        claim: claim({ volumeName: 'pv-1' }),
        named: volume({ claimRef: reservedFor(claim()), capacity: '1Mi' }),
      },
      done: BIND,
    },
    {
      name: 'completes a binding that is only written to the volume',
      view: { volumes: [volume({ claimRef: refTo(claim()), phase: 'Bound' })] },
      done: ['patchClaim', 'patchClaimStatus'],
    },
    {
      name: 'waits for the volume that it names',
      view: { claim: claim({ volumeName: 'pv-1' }) },
      done: [],
    },
    {
      name: 'gets an event if the volume that it names does not fit',
      view: { claim: claim({ volumeName: 'pv-1' }), named: volume({ capacity: '1Mi' }) },
      done: ['VolumeMismatch'],
    },
    {
      name: 'gets an event if the volume that it names is bound to another claim',
      view: { claim: claim({ volumeName: 'pv-1' }), named: volume({ claimRef: refTo(claim({ name: 'other' })) }) },
      done: ['FailedBinding'],
    },
    {
      name: 'gets the default class if it has no class',
      view: { claim: claim({ className: undefined }), storageClass: undefined, defaultClass: storageClass() },
      done: ['patchClaim'],
    },
    {
      name: 'waits for a volume if it wants no class',
      view: { claim: claim({ className: '' }), storageClass: undefined, defaultClass: storageClass() },
      done: ['FailedBinding'],
    },
    { name: 'requests a new volume if none fits', view: {}, done: ['patchClaim', 'ExternalProvisioning'] },
    {
      name: 'requests a new volume only once',
      view: { claim: claim({ annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER } }) },
      done: ['ExternalProvisioning'],
    },
    {
      name: 'gets an event if its class is missing',
      view: { storageClass: undefined },
      done: ['ProvisioningFailed'],
    },
    {
      name: 'gets an event if its class has no provisioner',
      view: { storageClass: storageClass({ provisioner: 'kubernetes.io/no-provisioner' }) },
      done: ['ProvisioningFailed'],
    },
    {
      name: 'waits for its first consumer even if a volume fits',
      view: { storageClass: storageClass({ waitsForConsumer: true }), volumes: [volume()] },
      done: ['WaitForFirstConsumer'],
    },
    {
      name: 'gets an event with the pods that it waits for',
      view: { storageClass: storageClass({ waitsForConsumer: true }), waitingPods: ['a', 'b'] },
      done: ['WaitForPodScheduled'],
    },
    {
      name: 'requests a new volume after the binder has selected a node',
      view: {
        claim: claim({ annotations: { 'volume.kubernetes.io/selected-node': 'node-1' } }),
        storageClass: storageClass({ waitsForConsumer: true }),
      },
      done: ['patchClaim', 'ExternalProvisioning'],
    },
    {
      name: 'becomes pending again if its phase is wrong',
      view: { claim: claim({ className: '', phase: 'Lost', capacity: '1Gi' }) },
      done: ['FailedBinding', 'patchClaimStatus'],
    },
  ]
  it.each(rows)('a claim that was never bound $name', (row) => {
    expect(whatIsDone(decideClaim(view(row.view)))).toEqual(row.done)
  })

  it('a claim fails if the volume that the controller chose is now bound to another claim', () => {
    const ours = claim({ volumeName: 'pv-1', annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } })
    const steps = decideClaim(view({ claim: ours, named: volume({ claimRef: refTo(claim({ name: 'other' })) }) }))
    expect(summary(steps)).toEqual([
      'FailedBinding: volume "pv-1" already bound to a different claim.',
      'fail: invalid binding of claim "default/data" to volume "pv-1": volume already claimed by "default/other"',
    ])
  })

  it('a binding patches first the volume and then the claim, each with its resource version', () => {
    expect(summary(decideClaim(view({ volumes: [volume({ resourceVersion: '7' })] })))).toEqual([
      'patchVolume {"metadata":{"resourceVersion":"7","annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},' +
        '"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"default","name":"data",' +
        '"uid":"uid-data","resourceVersion":"1"}}}',
      'patchVolumeStatus {"status":{"phase":"Bound","message":null}}',
      'patchClaim {"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/bound-by-controller":"yes",' +
        '"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pv-1"}}',
      'patchClaimStatus {"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"}}}',
    ])
  })

  it('a binding adds no bound-by-controller annotation to a volume that the user reserved', () => {
    const reserved = volume({ claimRef: reservedFor(claim()) })
    expect(summary(decideClaim(view({ volumes: [reserved] })))[0]).not.toContain('bound-by-controller')
  })

  it('a binding adds no bound-by-controller annotation to a claim whose volume name the user has set', () => {
    const named = { claim: claim({ volumeName: 'pv-1' }), named: volume() }
    expect(summary(decideClaim(view(named)))[2]).toBe(
      'patchClaim {"metadata":{"resourceVersion":"1","annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}',
    )
  })

  it('a claim gets the old capacity of its volume if it is bound while the volume is being expanded', () => {
    const growing = volume({
      capacity: '2Gi',
      annotations: { 'volume.alpha.kubernetes.io/pre-resize-capacity': '1Gi' },
    })
    expect(summary(decideClaim(view({ volumes: [growing] }))).at(-1)).toContain('"capacity":{"storage":"1Gi"}')
  })

  it('the status of a newly bound claim contains the VolumeAttributesClass of its volume', () => {
    const gold = { claim: claim({ attributesClass: 'gold' }), volumes: [volume({ attributesClass: 'gold' })] }
    expect(summary(decideClaim(view(gold))).at(-1)).toContain('"currentVolumeAttributesClassName":"gold"')
  })
})

describe('bound claims', () => {
  const pair = boundPair()

  it('a bound claim needs no write while the claim and the volume refer to each other', () => {
    expect(decideClaim(view({ claim: pair.claim, named: pair.volume }))).toEqual([])
  })

  it('a bound claim keeps its capacity if the volume becomes larger', () => {
    const grown = { ...pair.volume, capacity: '2Gi' }
    expect(decideClaim(view({ claim: pair.claim, named: grown }))).toEqual([])
  })

  it('a deleted `claimRef` of a bound volume is written again', () => {
    const steps = decideClaim(
      view({ claim: pair.claim, named: { ...pair.volume, claimRef: undefined, phase: 'Available' } }),
    )
    expect(whatIsDone(steps)).toEqual(['patchVolume', 'patchVolumeStatus'])
  })

  const lost: [string, Partial<ClaimBindingView>, string][] = [
    [
      'its volume is gone',
      { named: undefined },
      'Bound claim has lost its PersistentVolume. Data on the volume is lost!',
    ],
    [
      'it no longer names a volume',
      { claim: { ...pair.claim, volumeName: '' } },
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    ],
    [
      'its volume is bound to another claim',
      { named: { ...pair.volume, claimRef: refTo(claim({ name: 'other' })) } },
      'Two claims are bound to the same volume, this one is bound incorrectly',
    ],
  ]
  it.each(lost)('a bound claim becomes lost if %s', (_, change, text) => {
    const steps = decideClaim(view({ claim: pair.claim, ...change }))
    expect(summary(steps)[0]).toContain('{"status":{"phase":"Lost","accessModes":null,"capacity":null}}')
    expect(summary(steps)[1]).toContain(text)
  })

  it('a bound claim gets only one event when it becomes lost', () => {
    expect(decideClaim(view({ claim: { ...pair.claim, phase: 'Lost' } }))).toEqual([])
  })

  it('a claim never gets another volume after its first binding', () => {
    const steps = decideClaim(view({ claim: { ...pair.claim, volumeName: '' }, volumes: [volume({ key: 'pv-2' })] }))
    expect(whatIsDone(steps)).toEqual(['patchClaimStatus', 'ClaimLost'])
  })
})

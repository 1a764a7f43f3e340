import { pv } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { byObject } from '../facts/facts.ts'
import { pendingPage } from '../facts/pending.ts'
import { ago, allOf, factsWith } from '../testing/facts.ts'
import { findingsOf } from './findings.ts'

const item = {
  sidecar: 'external-attacher',
  driver: 'csi.example.com',
  operation: 'release',
  object: { kind: 'PersistentVolume', name: 'pv-7' },
  reason: 'StillAttached',
  since: ago(600),
  stuck: true,
  waitsFor: ['VolumeAttachment va-9'],
}
const pending = byObject(pendingPage({ items: [item] })?.items ?? [])

it('the findings include stuck work that only a sidecar reports', () => {
  expect(findingsOf(factsWith({ pending })).findings).toMatchObject([
    { reason: 'StillAttached', waitsFor: 'VolumeAttachment va-9', since: Date.parse(ago(600)), stuck: true },
  ])
})

it('a finding about a young object counts as stuck if a sidecar reports the object as stuck', () => {
  const young = pv('pv-7', {
    metadata: { deletionTimestamp: ago(2), finalizers: ['external-attacher/csi-example-com'] },
  })
  expect(findingsOf(factsWith({ pending, volumes: allOf(young) })).findings).toMatchObject([
    { reason: 'StillAttached', stuck: true },
    { reason: 'VolumeStillAttached', stuck: false },
  ])
})

it('a reason that this version does not know becomes `Waiting`, and the evidence contains it', () => {
  const unknown = byObject(pendingPage({ items: [{ ...item, reason: 'OfNextVersion' }] })?.items ?? [])
  const [finding] = findingsOf(factsWith({ pending: unknown })).findings
  expect(finding?.reason).toBe('Waiting')
  expect(finding?.evidence).toContainEqual(expect.objectContaining({ field: 'reason', value: 'OfNextVersion' }))
})

import { FakeClock } from '@csi-sidecars/base/testing'
import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { DRIVER, pvc } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { claimProjection } from '../caches/claim.ts'
import { CLONE_FINALIZER } from '../caches/names.ts'
import type { DecisionSettings } from './decide.ts'
import { ClaimMemory } from './memory.ts'
import { claimTrigger } from './triggers.ts'

const FINALIZER = 'external-provisioner/csi-example-com'
const SETTINGS: DecisionSettings = {
  names: { driver: DRIVER, inTree: undefined },
  claimFinalizer: FINALIZER,
  finalizeClaims: true,
  node: undefined,
}
const annotations = { 'volume.kubernetes.io/storage-provisioner': DRIVER }
const project = claimProjection(FINALIZER)
const claim = (resourceVersion: string, metadata: PersistentVolumeClaim['metadata'] = {}) =>
  project(pvc('data', { metadata: { uid: 'u', annotations, ...metadata, resourceVersion } }))

const keys = (after: ReturnType<typeof claim>): readonly string[] => [
  ...claimTrigger(
    SETTINGS,
    new ClaimMemory(new FakeClock(), 0),
  )({
    type: 'updated',
    before: claim('1'),
    after,
    origin: 'change',
  }),
]

describe('claimTrigger', () => {
  it.each([
    ['our finalizer', claim('2', { finalizers: [FINALIZER] })],
    ['the finalizer of our clones', claim('2', { finalizers: [CLONE_FINALIZER] })],
    ['fields that are not cached', claim('2')],
  ])('a change of %s alone does not end the back-off of the claim', (_, after) => {
    expect(keys(after)).toEqual([])
  })

  it.each([
    ['a label', claim('2', { labels: { a: 'b' } })],
    ['an annotation', claim('2', { annotations: { ...annotations, a: 'b' } })],
    ['the finalizer of another writer', claim('2', { finalizers: [FINALIZER, 'a/b'] })],
    ['the deletion', claim('2', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ])('a change of %s ends the back-off of the claim', (_, after) => {
    expect(keys(after)).toEqual(['u'])
  })
})

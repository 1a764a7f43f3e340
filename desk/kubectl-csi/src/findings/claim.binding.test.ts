import { pod, pvc, storageClass } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import { headlineOf } from '../output/explanation.ts'
import { ago, allOf, factsWith } from '../testing/facts.ts'
import { claimFindings } from './claim.ts'

const unbound = (annotations = {}) =>
  pvc('pvc-1', {
    metadata: { creationTimestamp: ago(60), annotations },
    spec: { storageClassName: 'sc-1' },
    status: { phase: 'Pending' },
  })
const DELAYED = storageClass('sc-1', { volumeBindingMode: 'WaitForFirstConsumer' })

const ROWS = [
  {
    name: 'a volume',
    claim: unbound(),
    facts: { storageClasses: allOf(storageClass()) },
    reason: 'ClaimNotBound',
    says: 'the claim has been waiting 1m for a volume, from csi.example.com or by hand.',
  },
  {
    name: 'a pod, if its StorageClass waits for the first consumer',
    claim: unbound(),
    facts: { storageClasses: allOf(DELAYED) },
    reason: 'NoConsumer',
    says: 'the claim has been waiting 1m for a pod that uses it, as its StorageClass asks.',
    stuck: false,
  },
  {
    name: 'the scheduling of its pod, if its StorageClass waits for the first consumer',
    claim: unbound(),
    facts: { storageClasses: allOf(DELAYED), pods: [pod('web', { spec: { nodeName: null } })] },
    reason: 'ConsumerNotScheduled',
    says: 'for the scheduler to choose a node for Pod default/web.',
  },
  {
    name: 'a volume, after a node was selected',
    claim: unbound({ 'volume.kubernetes.io/selected-node': 'node-1' }),
    facts: { storageClasses: allOf(DELAYED) },
    reason: 'ClaimNotBound',
    says: 'for a volume, from csi.example.com or by hand.',
  },
] as const

it.each(ROWS)('a claim without a volume waits for $name', ({ claim: object, facts, reason, says, ...row }) => {
  const all = factsWith(facts)
  const [finding, ...more] = claimFindings(object, all)
  if (finding === undefined) throw new Error('no finding')
  expect(more).toEqual([])
  expect(headlineOf(finding, finding.object, all.now)).toContain(says)
  expect(finding).toMatchObject({ reason, stuck: !('stuck' in row) })
})

it('the finding that a claim waits for a pod is less certain if pods could not be read', () => {
  const unseen = [{ what: 'pods', why: 'forbidden', essential: true }]
  const [finding] = claimFindings(unbound(), factsWith({ storageClasses: allOf(DELAYED), unseen }))
  expect(finding).toMatchObject({ reason: 'NoConsumer', sure: 'likely' })
})

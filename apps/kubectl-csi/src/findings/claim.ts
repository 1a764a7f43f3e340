import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { driverOf, type Facts, keyOf, objectOf, refOf, textOf, timeOf } from '../facts/facts.ts'
import { usersOf } from './claim-users.ts'
import { foreignFinalizerFindings } from './finalizers.ts'
import { CERTAIN, type Finding, likely } from './finding.ts'
import { modifyFindings } from './modify.ts'
import { resizeFindings } from './resize.ts'
import { ROWS } from './rows.ts'

/** What a claim waits for: to be bound, to grow, to be modified, to be deleted. */
export function claimFindings(claim: PersistentVolumeClaim, facts: Facts): readonly Finding[] {
  const object = refOf('PersistentVolumeClaim', claim)
  const deletion = [...protectedFindings(claim, facts), ...foreignFinalizerFindings(object, claim.metadata, facts)]
  const phase = claim.status?.phase
  const { volumeName = '' } = claim.spec ?? {}
  const volume = facts.volumes.get(volumeName)
  const lost = volume.is === 'absent' && (phase === 'Bound' || phase === 'Lost')
  if (lost) return [...deletion, volumeLost(claim, volumeName)]
  if (phase !== 'Bound') return [...deletion, notBound(claim, facts)]
  const pv = objectOf(volume)
  const driver = claim.metadata?.annotations?.['volume.kubernetes.io/storage-resizer'] ?? (pv && driverOf(pv))
  // Where the volume could not be read the driver is not known, and the work is shown all the same.
  const context = { facts, driver: driver ?? '(unknown driver)' }
  return [...deletion, ...resizeFindings(claim, context), ...modifyFindings(claim, context)]
}

function volumeLost(claim: PersistentVolumeClaim, volumeName: string): Finding {
  const object = refOf('PersistentVolumeClaim', claim)
  return {
    reason: 'VolumeMissing',
    object,
    waiter: 'the claim',
    waitsFor: `PersistentVolume ${volumeName}, which does not exist`,
    since: undefined,
    atLeast: false,
    stuck: true,
    ...CERTAIN,
    evidence: [{ object, field: '.spec.volumeName', value: volumeName }],
    advice: ROWS.volumeMissing,
  }
}

/** Binding is for the volume controller and the provisioner; what they wait for is the only part that is seen here. */
function notBound(claim: PersistentVolumeClaim, facts: Facts): Finding {
  const { metadata, spec, status } = claim
  const object = refOf('PersistentVolumeClaim', claim)
  const since = timeOf(metadata?.creationTimestamp)
  const young = since !== undefined && facts.now - since < facts.stuckAfterMs
  const className = spec?.storageClassName ?? ''
  const evidence = [
    { object, field: '.status.phase', value: status?.phase ?? '(empty)' },
    { object, field: '.spec.storageClassName', value: className === '' ? '(empty)' : className },
  ]
  const common = { object, waiter: 'the claim', since, atLeast: false, evidence, advice: ROWS.claimNotBound }
  const seen = facts.storageClasses.get(className)
  if (className !== '' && seen.is === 'absent') {
    const waitsFor = `StorageClass ${className}, which does not exist`
    return { ...common, reason: 'StorageClassMissing', waitsFor, stuck: true, ...CERTAIN }
  }
  const storageClass = objectOf(seen)
  if (storageClass?.volumeBindingMode === DELAYED && metadata?.annotations?.[SELECTED_NODE] === undefined) {
    const mode = { object: refOf('StorageClass', storageClass), field: '.volumeBindingMode', value: DELAYED }
    return { ...common, ...consumerOf(claim, facts, young), evidence: [...evidence, mode] }
  }
  return {
    ...common,
    reason: 'ClaimNotBound',
    waitsFor: `a volume, from ${storageClass?.provisioner ?? 'its provisioner'} or by hand`,
    stuck: !young,
    ...likely('binding is not the work of these sidecars; the events of the claim say more'),
  }
}

const DELAYED = 'WaitForFirstConsumer'
const SELECTED_NODE = 'volume.kubernetes.io/selected-node'

/** A claim whose class asks for a pod first: without one nothing is wrong. */
function consumerOf(
  claim: PersistentVolumeClaim,
  facts: Facts,
  young: boolean,
): Pick<Finding, 'reason' | 'waitsFor' | 'stuck' | 'sure' | 'doubt'> {
  const users = usersOf(claim, facts)
  if (users.length > 0) {
    const waitsFor = `the scheduler to choose a node for ${users.map(textOf).join(', ')}`
    return { reason: 'ConsumerNotScheduled', waitsFor, stuck: !young, ...CERTAIN }
  }
  const sure = facts.unseen.some(({ what }) => what === 'pods') ? likely('pods could not be read') : CERTAIN
  return { reason: 'NoConsumer', waitsFor: 'a pod that uses it, as its StorageClass asks', stuck: false, ...sure }
}

/** A claim that is deleted stays while pods use it. */
function protectedFindings(claim: PersistentVolumeClaim, facts: Facts): readonly Finding[] {
  const { metadata } = claim
  const since = timeOf(metadata?.deletionTimestamp)
  if (since === undefined || metadata?.finalizers?.includes('kubernetes.io/pvc-protection') !== true) return []
  const object = refOf('PersistentVolumeClaim', claim)
  const users = usersOf(claim, facts)
  return [
    {
      reason: 'ClaimInUse',
      object,
      waiter: 'its deletion',
      waitsFor: users.length === 0 ? 'the pods that use it to end' : `${users.map(keyOf).join(', ')} to end`,
      since,
      atLeast: false,
      stuck: facts.now - since >= facts.stuckAfterMs,
      ...(users.length === 0 ? likely('no pod that uses it could be seen') : CERTAIN),
      evidence: [
        { object, field: '.metadata.finalizers', value: metadata.finalizers.join(', ') },
        ...users.map((user) => ({ object: user, field: '.spec.volumes', value: object.name })),
      ],
      advice: ROWS.foreignFinalizer,
    },
  ]
}

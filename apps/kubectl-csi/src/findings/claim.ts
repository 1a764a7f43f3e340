import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { driverOf, type Facts, keyOf, objectOf, refOf, timeOf } from '../facts/facts.ts'
import { usersOf } from './claim-users.ts'
import { foreignFinalizerFindings } from './finalizers.ts'
import { CERTAIN, type Finding, likely } from './finding.ts'
import { modifyFindings } from './modify.ts'
import { resizeFindings } from './resize.ts'
import { ROWS } from './rows.ts'

/** Whom a claim waits for: to be bound, to grow, to be modified, to be deleted. */
export function claimFindings(claim: PersistentVolumeClaim, facts: Facts): readonly Finding[] {
  const object = refOf('PersistentVolumeClaim', claim)
  const deletion = [...protectedFindings(claim, facts), ...foreignFinalizerFindings(object, claim.metadata, facts)]
  if (claim.status?.phase !== 'Bound') return [...deletion, notBound(claim, facts)]
  const { volumeName = '' } = claim.spec ?? {}
  const volume = facts.volumes.get(volumeName)
  if (volume.is === 'absent') return [...deletion, volumeLost(claim, volumeName)]
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
  const className = spec?.storageClassName ?? ''
  const storageClass = facts.storageClasses.get(className)
  const missing = className !== '' && storageClass.is === 'absent'
  const provisioner = objectOf(storageClass)?.provisioner ?? 'its provisioner'
  return {
    reason: missing ? 'StorageClassMissing' : 'ClaimNotBound',
    object,
    waiter: 'the claim',
    waitsFor: missing ? `StorageClass ${className}, which does not exist` : `a volume, from ${provisioner} or by hand`,
    since,
    atLeast: false,
    stuck: missing || since === undefined || facts.now - since >= facts.stuckAfterMs,
    ...(missing ? CERTAIN : likely('binding is not the work of these sidecars; the events of the claim say more')),
    evidence: [
      { object, field: '.status.phase', value: status?.phase ?? '(empty)' },
      { object, field: '.spec.storageClassName', value: className === '' ? '(empty)' : className },
    ],
    advice: ROWS.claimNotBound,
  }
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

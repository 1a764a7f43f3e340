import { type Facts, type Ref, textOf, timeOf } from '../facts/facts.ts'
import { CERTAIN, type Finding } from './finding.ts'
import { ROWS } from './rows.ts'

/** Of both sidecars only the attacher has one, on VolumeAttachments and PersistentVolumes. */
const OWN = 'external-attacher/'
/** Kubernetes' own: their waits are explained elsewhere. */
const PROTECTION: ReadonlySet<string> = new Set(['kubernetes.io/pv-protection', 'kubernetes.io/pvc-protection'])

interface Meta {
  readonly metadata?:
    | { readonly finalizers?: readonly string[] | undefined; readonly deletionTimestamp?: string | undefined }
    | undefined
}

export function ownFinalizers({ metadata }: Meta): readonly string[] {
  return (metadata?.finalizers ?? []).filter((name) => name.startsWith(OWN))
}

/** What the deletion of an object waits for, as far as it is for others than these sidecars and Kubernetes itself. */
export function foreignFinalizerFindings(
  object: Ref,
  metadata: Meta['metadata'],
  { now, stuckAfterMs }: Pick<Facts, 'now' | 'stuckAfterMs'>,
): readonly Finding[] {
  const since = timeOf(metadata?.deletionTimestamp)
  const foreign = (metadata?.finalizers ?? []).filter((name) => !name.startsWith(OWN) && !PROTECTION.has(name))
  if (since === undefined || foreign.length === 0) return []
  return [
    {
      reason: 'ForeignFinalizer',
      object,
      waiter: `the deletion of ${textOf(object)}`,
      waitsFor: `the owner of finalizer ${foreign.join(', ')} to remove it`,
      since,
      atLeast: false,
      stuck: now - since >= stuckAfterMs,
      ...CERTAIN,
      evidence: [
        { object, field: '.metadata.finalizers', value: (metadata?.finalizers ?? []).join(', ') },
        { object, field: '.metadata.deletionTimestamp', value: metadata?.deletionTimestamp ?? '' },
      ],
      advice: ROWS.foreignFinalizer,
    },
  ]
}

import { type ClusterFacts, type KindRef, textOf, timeOf } from '../facts/facts.ts'
import { foreignFinalizers, OWN_FINALIZERS } from '../waits/index.ts'
import { CERTAIN, type WaitFinding } from './finding.ts'
import { ROWS } from './rows.ts'

interface Meta {
  readonly metadata?:
    | { readonly finalizers?: readonly string[] | undefined; readonly deletionTimestamp?: string | undefined }
    | undefined
}

export function ownFinalizers({ metadata }: Meta): readonly string[] {
  return (metadata?.finalizers ?? []).filter((name) => name.startsWith(OWN_FINALIZERS))
}

/** Returns a finding if the deletion of an object waits for a finalizer that neither the sidecars nor Kubernetes own. */
export function foreignFinalizerFindings(
  object: KindRef,
  metadata: Meta['metadata'],
  { now, stuckAfterMs }: Pick<ClusterFacts, 'now' | 'stuckAfterMs'>,
): readonly WaitFinding[] {
  const since = timeOf(metadata?.deletionTimestamp)
  const foreign = foreignFinalizers(metadata?.finalizers)
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

import { messageOf } from '@csi-sidecars/base'
import { type ClusterFacts, type KindRef, refOf, textOf, type Unseen } from '../facts/facts.ts'
import { attachmentFindings } from './attachment.ts'
import { claimFindings } from './claim.ts'
import type { WaitFinding } from './finding.ts'
import { pendingFindings } from './pending.ts'
import { podFindings } from './pod.ts'
import { contentFindings, snapshotFindings } from './snapshot.ts'
import { volumeFindings } from './volume.ts'

/** All findings about the cluster, and the limits of what was read. */
export interface Findings {
  /** Stuck findings come before findings that are under way. In each group the longest wait comes first. */
  readonly findings: readonly WaitFinding[]
  /** Objects with an unexpected shape, which could not be examined. */
  readonly unseen: readonly Unseen[]
}

/** Returns all findings. An object with an unexpected shape is listed as unseen and does not affect other objects. */
export function findingsOf(facts: ClusterFacts): Findings {
  const found: WaitFinding[] = []
  const unseen: Unseen[] = []
  const of = <T extends Parameters<typeof refOf>[1]>(
    kind: string,
    objects: readonly T[],
    find: (object: T, facts: ClusterFacts) => readonly WaitFinding[],
  ): void => {
    for (const object of objects) {
      try {
        found.push(...find(object, facts))
      } catch (error) {
        unseen.push(notUnderstood(refOf(kind, object), error))
      }
    }
  }
  of('VolumeAttachment', facts.attachments, attachmentFindings)
  of('PersistentVolumeClaim', facts.claims.present, claimFindings)
  of('PersistentVolume', facts.volumes.present, volumeFindings)
  of('VolumeSnapshot', facts.snapshots.present, snapshotFindings)
  of('VolumeSnapshotContent', facts.contents.present, contentFindings)
  of('Pod', facts.pods, podFindings)
  found.push(...pendingFindings(facts, found))
  return { findings: found.toSorted((a, b) => Number(b.stuck) - Number(a.stuck) || ageOrder(a, b)), unseen }
}

function notUnderstood(ref: KindRef, error: unknown): Unseen {
  return { what: textOf(ref), why: `it is not understood: ${messageOf(error)}`, essential: true }
}

/** Sorts the longest wait first. Waits of unknown age count as the oldest. */
function ageOrder(a: WaitFinding, b: WaitFinding): number {
  return (a.since ?? Number.NEGATIVE_INFINITY) - (b.since ?? Number.NEGATIVE_INFINITY) || 0
}

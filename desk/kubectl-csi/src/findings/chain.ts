import { type Remedy, remedyOf } from '@csi-sidecars/waits'
import { type ClusterFacts, type KindRef, textOf } from '../facts/facts.ts'
import type { WaitFinding } from './finding.ts'
import { podAwaits } from './pod.ts'

/**
 * Returns the findings that explain one object. The last finding in its chain of waits comes first, because that wait
 * has to end first. `--older-than` never changes the order.
 */
export function explainedFindings(
  all: readonly WaitFinding[],
  subject: KindRef,
  facts: ClusterFacts,
): readonly WaitFinding[] {
  const subjectText = textOf(subject)
  const chain = chainOf(all, subject, facts)
  const rankOf = (finding: WaitFinding): number => {
    if (subject.kind !== 'Node' && !chain.has(textOf(finding.object))) return outsideRank(finding, subject)
    const awaited = new Set((finding.awaits ?? []).map(textOf))
    return all.some(({ object }) => awaited.has(textOf(object))) ? MIDDLE : END
  }
  return (
    all
      // Findings of other pods with the same claim count only if the explained object waits for these pods.
      .filter(({ object }) => object.kind !== 'Pod' || textOf(object) === subjectText || chain.has(textOf(object)))
      .map((finding) => ({ finding, rank: rankOf(finding), urgency: URGENCY.indexOf(remedyIn(finding)) }))
      .toSorted((a, b) => a.rank - b.rank || a.urgency - b.urgency || sinceOf(a.finding) - sinceOf(b.finding) || 0)
      .map(({ finding }) => finding)
  )
}

const END = 0
const MIDDLE = 1

/** Returns the rank of a finding outside the chain of waits. Claims of an explained pod come last. */
function outsideRank({ object }: WaitFinding, subject: KindRef): number {
  return subject.kind === 'Pod' && object.kind === 'PersistentVolumeClaim' ? 3 : 2
}

const URGENCY: readonly Remedy[] = ['blocked', 'retried', 'idle']

function remedyIn({ remedy, reason }: WaitFinding): Remedy {
  return remedy ?? remedyOf(reason)
}

/** Returns the start of the wait. An unknown start counts as the earliest. */
function sinceOf({ since }: WaitFinding): number {
  return since ?? Number.MIN_SAFE_INTEGER
}

/** Returns the explained object, and the objects that it waits for directly or indirectly. */
function chainOf(all: readonly WaitFinding[], subject: KindRef, facts: ClusterFacts): ReadonlySet<string> {
  const chain = new Set<string>()
  const pending: KindRef[] = [subject]
  for (let ref = pending.pop(); ref !== undefined; ref = pending.pop()) {
    const name = textOf(ref)
    if (chain.has(name)) continue
    chain.add(name)
    pending.push(...all.filter(({ object }) => textOf(object) === name).flatMap(({ awaits = [] }) => awaits))
    pending.push(...podAwaits(ref, facts))
  }
  return chain
}

import type { Clock } from '@csi-sidecars/base'
import type { Backlog, PendingWork } from '@csi-sidecars/controller'
import type { Informer, Reader } from '@csi-sidecars/informer'
import type { ResizerClaim } from '../caches/claim.ts'
import { CONDITION, SIZE_STATUS } from '../caches/names.ts'
import type { ResizerVolume } from '../caches/volume.ts'
import { objectOf, SIDECAR } from '../claim/pending.ts'
import { isOnlyNodeStepLeft, nodeStatusOf } from './pending.ts'
import { isOurs } from './source.ts'

/** Everything that the report about the kubelet's part of an expansion needs. */
export interface NodeStepsOptions {
  readonly claims: Pick<Informer<ResizerClaim, never>, 'store' | 'subscribe'>
  readonly volumes: Pick<Reader<ResizerVolume>, 'get'>
  readonly driverName: string
  readonly backlog: Backlog
  readonly clock: Clock
}

interface NodeStep {
  readonly uid: string
  /** The time at which the kubelet's part of the expansion began. */
  readonly since: number
  /** The time since which the expansion is due, as far as known. */
  dueSince: number
}

/** Reports expansions that only the kubelet must finish. The resizer does nothing for them, but users wait for them. */
export class NodeSteps {
  readonly #options: NodeStepsOptions
  readonly #steps = new Map<string, NodeStep>()

  constructor(options: NodeStepsOptions) {
    this.#options = options
  }

  /** Follows changes of the cached claims until the returned function is called. */
  open(): () => void {
    const { claims, backlog } = this.#options
    using undo = new DisposableStack()
    undo.defer(
      claims.subscribe((event) => {
        if (event.type === 'deleted') this.#steps.delete(event.object.key)
        else this.#update(event.type === 'added' ? event.object : event.after)
      }),
    )
    undo.defer(backlog.join(() => this.#pending()))
    for (const claim of claims.store.values()) this.#update(claim)
    const ends = undo.move()
    return () => ends.dispose()
  }

  /** Records that the resizer's part of an expansion, due since `since`, is done. */
  recordDue(key: string, since: number): void {
    const claim = this.#options.claims.store.get(key)
    if (claim !== undefined) this.#update(claim)
    const step = this.#steps.get(key)
    if (step !== undefined) step.dueSince = Math.min(step.dueSince, since)
  }

  #update(claim: ResizerClaim): void {
    const { clock, backlog } = this.#options
    const step = this.#steps.get(claim.key)
    if (this.#isStep(claim)) {
      if (step?.uid === claim.uid) return
      const since = Math.min(sinceOf(claim) ?? clock.now(), clock.now())
      this.#steps.set(claim.key, { uid: claim.uid, since, dueSince: since })
      return
    }
    if (step === undefined) return
    this.#steps.delete(claim.key)
    // A claim without `sizeStatus` means that the kubelet has finished. With another value, a new expansion has begun.
    if (step.uid === claim.uid && claim.sizeStatus === undefined) {
      backlog.recordCompletion('node-expand', Math.max(0, clock.now() - step.dueSince))
    }
  }

  #isStep(claim: ResizerClaim): boolean {
    if (!isOnlyNodeStepLeft(claim)) return false
    const { volumes, driverName } = this.#options
    const volume = volumes.get(claim.volumeName)
    return volume !== undefined && isOurs(claim, volume, driverName)
  }

  *#pending(): Generator<PendingWork> {
    const { claims } = this.#options
    for (const [key, { since }] of this.#steps) {
      const claim = claims.store.get(key)
      if (claim === undefined) continue
      const reason = nodeStatusOf(claim) ?? SIZE_STATUS.nodePending
      yield {
        operation: 'node-expand',
        object: objectOf(claim),
        volume: claim.volumeName,
        sidecar: SIDECAR,
        key,
        state: 'waiting',
        reason,
        since,
        // A wait for a pod is no error: the kubelet expands a volume only while a pod uses it.
        stuck: reason === SIZE_STATUS.nodeInfeasible,
        tries: 0,
        waitsFor: ['kubelet of a node with a pod that uses the claim'],
      }
    }
  }
}

function sinceOf({ conditions }: ResizerClaim): number | undefined {
  const time = conditions?.find(({ type }) => type === CONDITION.nodeStepPending)?.lastTransitionTime
  const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

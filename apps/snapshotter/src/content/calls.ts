import { type Clock, invariant } from '@csi-sidecars/base'
import { callFailure } from '@csi-sidecars/controller'
import { type CallOptions, type Driver, getDriverName, type SnapshotClient, secretsFrom } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { Content } from '../caches/content.ts'
import type { SnapshotDeletion } from './decide.ts'
import { decideLost } from './decide-lost.ts'
import type { ContentKind, CreateRequest, DriverSnapshot } from './kinds.ts'
import type { ContentMemory, LostContent } from './memory.ts'

/**
 * The proof that a snapshot may be deleted. `content`: the content as this run has read it from the API server. `lost`: a
 * lost content, which this run could not find on the API server.
 */
export type DeletionPermit =
  | { readonly kind: 'content'; readonly content: Content; readonly step: SnapshotDeletion }
  | { readonly kind: 'lost'; readonly lost: LostContent }

/** Everything that the calls of a run need. */
export interface SnapshotCallsOptions {
  readonly kind: ContentKind
  readonly driver: Driver
  readonly calls: SnapshotClient
  readonly memory: ContentMemory
  /** The limit of each call in milliseconds, from `--timeout`. */
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * The CSI calls about the snapshot of one content.
 *
 * Guarantees: a snapshot is deleted only with a permit, which is checked right before the call. The memory knows of each
 * deletion that may still run.
 *
 * Errors: those of the driver.
 */
export class SnapshotCalls {
  readonly #content: Content
  readonly #options: SnapshotCallsOptions

  constructor(content: Content, options: SnapshotCallsOptions) {
    this.#content = content
    this.#options = options
  }

  /**
   * Asks the driver for its name, as the Go snapshotter does before each creation. Returns a function that creates the
   * snapshot. Both calls together are limited by `--timeout`, without the time between them.
   */
  async prepareCreate(request: CreateRequest): Promise<() => Promise<DriverSnapshot>> {
    const { kind, driver, calls, clock, signal, timeoutMs } = this.#options
    const end = clock.monotonic() + timeoutMs
    await getDriverName(driver, { signal, timeoutMs })
    const leftMs = Math.max(0, end - clock.monotonic())
    return async () => {
      const secrets = secretsFrom(request.secrets)
      return await kind.create(calls, this.#content, { ...request, secrets, signal, timeoutMs: leftMs })
    }
  }

  /** Asks the driver about an existing snapshot. Without LIST_SNAPSHOTS, it is ready. */
  async check(secrets: CreateRequest['secrets']): Promise<DriverSnapshot> {
    const { kind, calls, driver, clock } = this.#options
    if (kind.listsSnapshots && !driver.capabilities.controller.has(ControllerRpc.LIST_SNAPSHOTS)) {
      const { status, preProvisioned } = this.#content
      const handle = status?.handle ?? preProvisioned?.handle ?? ''
      const now = clock.now()
      const creationTime = { seconds: BigInt(Math.floor(now / 1000)), nanos: (now % 1000) * 1_000_000 }
      return { handle, readyToUse: true, creationTime }
    }
    return await kind.check(calls, this.#content, { secrets: secretsFrom(secrets), ...this.#callOptions() })
  }

  /** Calls DeleteSnapshot. Checks the permit again, because a deleted snapshot cannot be restored. */
  async delete(permit: DeletionPermit, secrets: CreateRequest['secrets']): Promise<void> {
    const { kind, calls, clock, memory } = this.#options
    const { content } = permit.kind === 'content' ? permit : permit.lost
    const snapshot = permittedSnapshot(permit)
    memory.recordUncertainDeletion(content, Number.POSITIVE_INFINITY)
    try {
      await kind.delete(calls, { content, ...snapshot }, { secrets: secretsFrom(secrets), ...this.#callOptions() })
      memory.endUncertainDeletion(content)
    } catch (error) {
      if (callFailure(error).isFinal) memory.endUncertainDeletion(content)
      else memory.recordUncertainDeletion(content, clock.monotonic())
      throw error
    }
  }

  #callOptions(): CallOptions {
    const { signal, timeoutMs } = this.#options
    return { signal, timeoutMs }
  }
}

/** Returns the snapshot that the permit allows to delete. Throws if it allows none. */
export function permittedSnapshot(permit: DeletionPermit): Pick<SnapshotDeletion, 'handle' | 'members'> {
  if (permit.kind === 'lost') {
    const decision = decideLost(permit.lost)
    invariant(
      decision.kind === 'delete' && decision.creation.answer !== undefined,
      'no permit to delete a lost snapshot',
    )
    const { handle, members = [] } = decision.creation.answer
    return { handle, members: members.map(({ snapshotId }) => snapshotId) }
  }
  const { content, step } = permit
  const { deletedSeconds, policy, beingCreated, status, preProvisioned } = content
  const isRequested = deletedSeconds !== undefined && policy === 'Delete' && !beingCreated
  const isNamed = (status?.handle ?? preProvisioned?.handle) === step.handle && status?.groupHandle === undefined
  invariant(isRequested && isNamed, `${content.key} does not permit to delete ${step.handle}`)
  return step
}

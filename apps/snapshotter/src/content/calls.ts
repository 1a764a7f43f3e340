import { invariant } from '@csi-sidecars/base'
import { callFailure } from '@csi-sidecars/controller'
import { type CallOptions, getDriverName, secretsFrom } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { Content } from '../caches/content.ts'
import type { SnapshotDeletion } from './decide.ts'
import { decideLost } from './decide-lost.ts'
import type { CreateRequest, DriverSnapshot } from './kinds.ts'
import type { LostContent } from './memory.ts'
import type { ContentRun } from './run.ts'

/**
 * The proof that a snapshot may be deleted. `content`: the content as this run has read it from the API server. `lost`: a
 * lost content, which this run could not find on the API server.
 */
export type DeletionPermit =
  | { readonly kind: 'content'; readonly content: Content; readonly step: SnapshotDeletion }
  | { readonly kind: 'lost'; readonly lost: LostContent }

/**
 * Asks the driver for its name, as the Go snapshotter does before each creation. Returns a function that creates the
 * snapshot. Both calls together are limited by `--timeout`, without the time between them.
 */
export async function prepareCreate(run: ContentRun, request: CreateRequest): Promise<() => Promise<DriverSnapshot>> {
  const { deps, signal, content } = run
  const end = deps.clock.monotonic() + deps.timeoutMs
  await getDriverName(deps.driver, { signal, timeoutMs: deps.timeoutMs })
  const timeoutMs = Math.max(0, end - deps.clock.monotonic())
  return async () => {
    const secrets = secretsFrom(request.secrets)
    return await deps.kind.create(deps.calls, content, { ...request, secrets, signal, timeoutMs })
  }
}

/** Asks the driver about an existing snapshot. Without the capability LIST_SNAPSHOTS, assumes that it is ready. */
export async function callCheck(run: ContentRun, secrets: CreateRequest['secrets']): Promise<DriverSnapshot> {
  const { deps, content } = run
  const { kind, calls, driver, clock } = deps
  if (kind.listsSnapshots && !driver.capabilities.controller.has(ControllerRpc.LIST_SNAPSHOTS)) {
    const handle = content.status?.handle ?? content.preProvisioned?.handle ?? ''
    const now = clock.now()
    const creationTime = { seconds: BigInt(Math.floor(now / 1000)), nanos: (now % 1000) * 1_000_000 }
    return { handle, readyToUse: true, creationTime }
  }
  return await kind.check(calls, content, { secrets: secretsFrom(secrets), ...optionsOf(run) })
}

/** Calls DeleteSnapshot. Checks the permit again, because a deleted snapshot cannot be restored. */
export async function callDelete(
  run: ContentRun,
  permit: DeletionPermit,
  secrets: CreateRequest['secrets'],
): Promise<void> {
  const { kind, calls, clock, memory } = run.deps
  const { content } = permit.kind === 'content' ? permit : permit.lost
  const snapshot = permittedSnapshot(permit)
  memory.deletionUncertain(content, Number.POSITIVE_INFINITY)
  try {
    await kind.delete(calls, { content, ...snapshot }, { secrets: secretsFrom(secrets), ...optionsOf(run) })
    memory.deletionEnded(content)
  } catch (error) {
    if (callFailure(error).isFinal) memory.deletionEnded(content)
    else memory.deletionUncertain(content, clock.monotonic())
    throw error
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

function optionsOf({ deps, signal }: ContentRun): CallOptions {
  return { signal, timeoutMs: deps.timeoutMs }
}

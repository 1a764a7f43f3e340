import { type CallOptions, getDriverName, secretsFrom } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { Content } from '../caches/content.ts'
import type { CreateRequest, Taken } from './kinds.ts'
import type { ContentRun } from './run.ts'

/**
 * Asks the driver for its name, as the Go original does before each creation. Returns a function that creates the
 * snapshot. Both calls together are limited by `--timeout`, without the time between them.
 */
export async function prepareCreate(
  run: ContentRun,
  content: Content,
  request: CreateRequest,
): Promise<() => Promise<Taken>> {
  const { deps, signal } = run
  const end = deps.clock.monotonic() + deps.timeoutMs
  await getDriverName(deps.driver, { signal, timeoutMs: deps.timeoutMs })
  const timeoutMs = Math.max(0, end - deps.clock.monotonic())
  return async () => {
    const secrets = secretsFrom(request.secrets)
    return await deps.kind.create(deps.calls, content, { ...request, secrets, signal, timeoutMs })
  }
}

/** Asks the driver about an existing snapshot. Without the capability LIST_SNAPSHOTS, assumes that it is ready. */
export async function callCheck(run: ContentRun, content: Content, secrets: CreateRequest['secrets']): Promise<Taken> {
  const { deps } = run
  const { kind, calls, driver, clock } = deps
  if (kind.listsSnapshots && !driver.capabilities.controller.has(ControllerRpc.LIST_SNAPSHOTS)) {
    const handle = content.status?.handle ?? content.given?.handle ?? ''
    const now = clock.now()
    const creationTime = { seconds: BigInt(Math.floor(now / 1000)), nanos: (now % 1000) * 1_000_000 }
    return { handle, readyToUse: true, creationTime }
  }
  return await kind.check(calls, content, { secrets: secretsFrom(secrets), ...optionsOf(run) })
}

export async function callDelete(
  run: ContentRun,
  snapshot: { readonly content: Content; readonly handle: string; readonly members: readonly string[] },
  secrets: CreateRequest['secrets'],
): Promise<void> {
  await run.deps.kind.delete(run.deps.calls, snapshot, { secrets: secretsFrom(secrets), ...optionsOf(run) })
}

function optionsOf({ deps, signal }: ContentRun): CallOptions {
  return { signal, timeoutMs: deps.timeoutMs }
}

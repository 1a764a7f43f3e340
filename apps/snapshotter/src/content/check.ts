import type { Outcome } from '@csi-sidecars/controller'
import { goQuote } from '@csi-sidecars/telemetry'
import { NotSentError, rethrowAs } from './failure.ts'
import { readCheckSecrets } from './inputs.ts'
import { snapshotStatus } from './patches.ts'
import { recordFailure } from './record-failure.ts'
import type { ContentRun } from './run.ts'

/**
 * Asks the driver about a pre-provisioned snapshot or a group member. Returns undefined if the answer is stored, otherwise
 * when to retry.
 */
export async function checkSnapshot(run: ContentRun): Promise<Outcome | undefined> {
  const { deps, key, stored } = run
  const { kind } = deps
  try {
    const secrets = await readCheckSecrets(run)
    const failed = rethrowAs(`failed to list ${kind.texts.snapshot} for ${kind.texts.content} ${key}`, goQuote)
    const snapshot = await run.calls.check(secrets).catch((cause: unknown) => {
      throw cause instanceof NotSentError ? cause : failed(cause)
    })
    await stored.writeStatus((latest) => snapshotStatus(kind, snapshot, latest))
    return undefined
  } catch (error) {
    return await recordFailure(run, 'check', error)
  }
}

import { type Controller, SETTLED, type Source } from '@csi-sidecars/controller'
import { CLAIM_EVENTS, recordEventOnce } from './events.ts'
import { forgetGone } from './forget.ts'
import { type ClaimDeps, newRun } from './run.ts'
import { finishCreation, reportUnsaved } from './save.ts'

const WORKERS = 10
/** The back-off with which the Go provisioner retries to store PersistentVolumes. */
const BACKOFF = { baseMs: 5, maxMs: 1_000_000 }

/** Stores PersistentVolumes whose first attempt failed, even if the claims are gone. `source` delivers their names. */
export function unsavedController(deps: ClaimDeps, source: Source): Controller {
  return {
    name: 'unsavedpvs',
    workers: deps.settings.workers <= 0 ? 0 : WORKERS,
    backoff: BACKOFF,
    // The claim controller has already waited for the caches when it adds keys to this controller.
    caches: [],
    sources: [source],
    wakers: {},
    reconcile: async (name, controllerRun) => {
      const unsaved = deps.memory.unsavedVolumes.get(name)
      if (unsaved === undefined) return SETTLED
      const run = newRun(unsaved.claim, { deps, log: deps.log.with({ PV: name }), controllerRun })
      try {
        const conflict = await finishCreation(run, unsaved)
        if (conflict !== undefined) recordEventOnce(run, unsaved.claim, CLAIM_EVENTS.failed(conflict.message))
        deps.enqueueClaimAgain(unsaved.claim.uid)
        forgetGone(unsaved.claim.uid, deps)
        return SETTLED
      } catch (error) {
        run.signal.throwIfAborted()
        reportUnsaved(run, unsaved, error)
        return { kind: 'retry', cause: error }
      }
    },
    callsDriver: false,
  }
}

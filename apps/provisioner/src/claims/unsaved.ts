import { type Controller, type Outcome, type Run, SETTLED, type Source } from '@csi-sidecars/controller'
import { CLAIM_EVENTS } from './events.ts'
import { type ClaimDeps, type ClaimRun, recordNews } from './run.ts'
import { reportUnsaved, storeUnsaved } from './settle.ts'

const WORKERS = 10
/** The waits of the Go original, whose administrators are used to quick repetitions. */
const BACKOFF = { baseMs: 5, maxMs: 1_000_000 }

export interface StoreLinks {
  readonly source: Source
  /** Looks at a claim again. */
  readonly claimAgain: (uid: string) => void
}

/** Stores the PersistentVolumes that could not be stored at once, also if their claims are gone. */
export function storeController(deps: ClaimDeps, { source, claimAgain }: StoreLinks): Controller {
  return {
    name: 'unsavedpvs',
    workers: deps.settings.workers <= 0 ? 0 : WORKERS,
    backoff: BACKOFF,
    // Its keys come from runs that have waited for the caches.
    caches: [],
    sources: [source],
    reconcile: (name, run) => store(name, { deps, own: run, claimAgain }),
    callsDriver: false,
  }
}

interface StoreRun {
  readonly deps: ClaimDeps
  readonly own: Run
  readonly claimAgain: (uid: string) => void
}

async function store(name: string, { deps, own, claimAgain }: StoreRun): Promise<Outcome> {
  const unsaved = deps.memory.unsaved.get(name)
  if (unsaved === undefined) return SETTLED
  const { signal } = own
  const run: ClaimRun = { deps, log: deps.log.with({ PV: name }), signal }
  try {
    const conflict = await storeUnsaved(run, name)
    if (conflict !== undefined) recordNews(run, unsaved.claim, CLAIM_EVENTS.failed(conflict.message))
    claimAgain(unsaved.claim.uid)
    return SETTLED
  } catch (error) {
    signal.throwIfAborted()
    reportUnsaved(run, unsaved, error)
    return { kind: 'retry', cause: error }
  }
}

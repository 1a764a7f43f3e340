import { messageOf } from '@csi-sidecars/base'
import { type Controller, SETTLED, type Source } from '@csi-sidecars/controller'
import { isPVMigratable, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { withoutFinalizer } from '../edit.ts'
import { isMarked } from './decide.ts'
import { readSecret } from './driver-calls.ts'
import { AnswerError } from './failure.ts'
import type { CreatedVolume, Unsaved } from './memory.ts'
import { cachedClaim } from './observe.ts'
import { CLAIM_EVENTS, type ClaimDeps, type ClaimRun, edit, recordEvent, recordNews } from './run.ts'

/**
 * Stores the PersistentVolume of a created volume. Returns an error if another PersistentVolume has its name: the new
 * volume is then deleted, unless a PersistentVolume names it. Throws if it can be neither stored nor deleted now.
 */
async function saveVolume(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { deps } = run
  const { pv, created, claim } = unsaved
  const name = nameOf(pv)
  if (!unsaved.doomed) {
    const existing = await createOrGet(run, pv)
    if (existing === undefined) return undefined
    switch (decideConflict(existing, { claimUid: claim.uid, created })) {
      case 'stored':
        deps.volumes.learn(existing)
        return undefined
      case 'kept':
        return keptFor(name, name)
      case 'unwanted':
        // A retry must not store it: the PersistentVolume in its way may be gone by then.
        deps.memory.unsaved.set(name, { ...unsaved, doomed: true })
    }
  }
  const owner = ownerOf(created.volumeId, run)
  if (owner !== undefined && owner !== name) return keptFor(name, owner)
  await deleteCreated(run, created)
  const message = `the PersistentVolume ${name} exists for another volume, so the new volume is deleted`
  return new AnswerError(message, { mayExist: false })
}

function keptFor(name: string, owner: string): AnswerError {
  const message = `cannot store the PersistentVolume ${name}: the volume belongs to the PersistentVolume ${owner}`
  return new AnswerError(message, { mayExist: false })
}

/** Undefined if the object is created; otherwise the object that has its name. */
async function createOrGet({ deps, signal }: ClaimRun, pv: PersistentVolume): Promise<PersistentVolume | undefined> {
  for (;;) {
    try {
      deps.volumes.learn(await deps.api.create(PERSISTENT_VOLUMES, pv, { signal }))
      return undefined
    } catch (error) {
      if (!isAlreadyExists(error)) throw error
    }
    try {
      return await deps.api.get(PERSISTENT_VOLUMES, { name: nameOf(pv) }, { signal })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/**
 * The fate of a new volume whose PersistentVolume finds its name taken. `stored`: the existing object is its own.
 * `kept`: the existing object names the volume, or may do so. `unwanted`: no object needs the volume.
 */
export function decideConflict(
  existing: PersistentVolume,
  { claimUid, created }: { readonly claimUid: string; readonly created: CreatedVolume },
): 'stored' | 'kept' | 'unwanted' {
  if (isDoomed(existing)) return 'unwanted'
  const handle = handleOf(existing)
  if (handle === created.volumeId) return existing.spec?.claimRef?.uid === claimUid ? 'stored' : 'kept'
  // The cache does not have the handles of in-tree volumes, which may name the volume too.
  return handle === undefined || created.migrated ? 'kept' : 'unwanted'
}

/** Its deletion cannot be undone, and its volume is deleted with it. */
function isDoomed({ metadata, spec, status }: PersistentVolume): boolean {
  if (metadata?.deletionTimestamp == null) return false
  return status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete'
}

function handleOf(pv: PersistentVolume): string | undefined {
  try {
    const { spec } = isPVMigratable(pv) ? translateInTreePVToCSI(pv) : pv
    return spec?.csi?.volumeHandle
  } catch {
    return undefined
  }
}

/** The PersistentVolume that names the volume. Such a volume is never deleted on behalf of a claim. */
export function ownerOf(volumeId: string, { deps }: Pick<ClaimRun, 'deps'>): string | undefined {
  for (const { key, handle } of deps.volumes.store.values()) if (handle === volumeId) return key
  return undefined
}

/** Deletes a volume that has no PersistentVolume. A missing Secret does not keep the volume alive. */
export async function deleteCreated(
  { deps, signal, log }: ClaimRun,
  { volumeId, secretRef, migrated }: CreatedVolume,
): Promise<void> {
  const secrets = await readSecret(deps.api, secretRef, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    log.error(undefined, `failed to get credentials for volume ${volumeId}: ${messageOf(error)}`)
    return {}
  })
  await deps.driver.delete({ volumeId, secrets }, { migrated, signal })
}

function nameOf({ metadata }: PersistentVolume): string {
  return metadata?.name ?? ''
}

/**
 * Stores the PersistentVolume of a created volume, or leaves it in `unsaved` for a later try. Returns an error if the
 * PersistentVolume cannot exist, because its name is taken.
 */
export async function settleUnsaved(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { deps } = run
  const name = nameOf(unsaved.pv)
  // The entry survives an abort, so that a later run of this term stores it.
  deps.memory.unsaved.set(name, unsaved)
  try {
    return await storeUnsaved(run, unsaved)
  } catch (error) {
    run.signal.throwIfAborted()
    reportUnsaved(run, unsaved, error)
    deps.storeLater(name)
    return undefined
  }
}

/** One try to store it. Throws the reason why it has to be tried again. */
async function storeUnsaved(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { memory } = run.deps
  const { claim, pv } = unsaved
  const name = nameOf(pv)
  const conflict = await saveVolume(run, unsaved)
  memory.unsaved.delete(name)
  memory.ended(claim.uid)
  if (conflict !== undefined) return conflict
  recordEvent(run, claim, CLAIM_EVENTS.succeeded(name))
  await releaseClaim(run, claim)
  return undefined
}

/** A refused PersistentVolume is an event of its claim: nothing else shows why the claim stays unbound. */
function reportUnsaved(run: ClaimRun, { claim, pv }: Unsaved, error: unknown): void {
  const message = `cannot store the PersistentVolume ${nameOf(pv)}: ${messageOf(error)}`
  run.log.error(error, 'Failed to save persistentvolume', { PV: nameOf(pv) })
  recordNews(run, claim, CLAIM_EVENTS.failed(message))
}

/** Removes our finalizer. A failure is repeated when the claim is looked at again, which its finalizer causes. */
async function releaseClaim(run: ClaimRun, claim: Claim): Promise<void> {
  const { settings } = run.deps
  if (!isMarked(cachedClaim(claim.uid, run.deps) ?? claim, settings)) return
  await edit(run, claim, withoutFinalizer(settings.claimFinalizer))
}

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
    reconcile: async (name, { signal }) => {
      const unsaved = deps.memory.unsaved.get(name)
      if (unsaved === undefined) return SETTLED
      const run: ClaimRun = { deps, log: deps.log.with({ PV: name }), signal }
      try {
        const conflict = await storeUnsaved(run, unsaved)
        if (conflict !== undefined) recordNews(run, unsaved.claim, CLAIM_EVENTS.failed(conflict.message))
        claimAgain(unsaved.claim.uid)
        return SETTLED
      } catch (error) {
        signal.throwIfAborted()
        reportUnsaved(run, unsaved, error)
        return { kind: 'retry', cause: error }
      }
    },
    callsDriver: false,
  }
}

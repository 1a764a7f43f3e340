import { messageOf } from '@csi-sidecars/base'
import { type Controller, failureLog, SETTLED, type Source } from '@csi-sidecars/controller'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from '../caches/claim.ts'
import { csiVolumeOf } from '../csi-volume.ts'
import { secretValuesAgain } from '../request/secrets.ts'
import { isMarked } from './decide.ts'
import { CLAIM_EVENTS, recordEvent, recordEventOnce } from './events.ts'
import { AnswerError } from './failure.ts'
import { forgetGone } from './forget.ts'
import type { CreatedVolume, Unsaved } from './memory.ts'
import { cachedClaim } from './observe.ts'
import { readOwner } from './owner.ts'
import { type ClaimDeps, type ClaimRun, removeOurFinalizer } from './run.ts'

/**
 * Stores the PersistentVolume of a created volume. If another PersistentVolume has its name, returns an error, and
 * deletes a volume to which no PersistentVolume refers. Throws if neither storing nor deleting is possible now.
 */
async function saveVolume(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { deps } = run
  const { pv, created, claim } = unsaved
  const name = nameOf(pv)
  if (!unsaved.mustDelete) {
    const existing = await createOrGet(run, pv)
    if (existing === undefined) return undefined
    switch (decideConflict(existing, { claimUid: claim.uid, created })) {
      case 'stored':
        deps.volumes.storeOwnWrite(existing)
        return undefined
      case 'kept':
        return keptFor(name, name)
      case 'unwanted':
        // Each retry must delete the new volume, even after the PersistentVolume of the same name is gone.
        deps.memory.unsaved.set(name, { ...unsaved, mustDelete: true })
    }
  }
  const { volumeId, secretRef, migrated } = created
  const { signal, log } = run
  const secrets = await secretValuesAgain(deps.api, secretRef, { signal, log, earlier: created.secrets })
  const owner = await readOwner(run, { volumeId, claimUid: claim.uid })
  // The deletion of that PersistentVolume also deletes the volume, after the checks that it needs.
  if (owner?.name === name && owner.deleting) throw new Error(`the PersistentVolume ${name} is being deleted`)
  if (owner !== undefined) return keptFor(name, owner.name)
  await deps.driver.delete({ kind: 'unwanted', volumeId, owner }, { secrets, migrated, signal })
  const message = `the PersistentVolume ${name} exists for another volume, so the new volume is deleted`
  return new AnswerError(message, { mayExist: false })
}

function keptFor(name: string, owner: string): AnswerError {
  const message = `cannot store the PersistentVolume ${name}: the volume belongs to the PersistentVolume ${owner}`
  return new AnswerError(message, { mayExist: false })
}

/** Creates the PersistentVolume and returns undefined. If the name is taken, returns the existing object. */
async function createOrGet({ deps, signal }: ClaimRun, pv: PersistentVolume): Promise<PersistentVolume | undefined> {
  try {
    deps.volumes.storeOwnWrite(await deps.api.create(PERSISTENT_VOLUMES, pv, { signal }))
    return undefined
  } catch (taken) {
    if (!isAlreadyExists(taken)) throw taken
    return await deps.api.get(PERSISTENT_VOLUMES, { name: nameOf(pv) }, { signal }).catch((error: unknown) => {
      // The existing object is gone. The next attempt to store the PersistentVolume comes after a pause.
      throw isNotFound(error) ? taken : error
    })
  }
}

/**
 * Decides about a new volume if the name of its PersistentVolume is taken. `stored`: the existing object describes the
 * volume for the same claim. `kept`: the existing object may refer to the volume. `unwanted`: no object needs it.
 */
export function decideConflict(
  existing: PersistentVolume,
  { claimUid, created }: { readonly claimUid: string; readonly created: CreatedVolume },
): 'stored' | 'kept' | 'unwanted' {
  if (isBeingDeletedWithVolume(existing)) return 'unwanted'
  const handle = csiVolumeOf(existing)?.spec?.csi?.volumeHandle
  if (handle === created.volumeId) return existing.spec?.claimRef?.uid === claimUid ? 'stored' : 'kept'
  // The in-tree form may name the volume in another way, so the volume of a migrated plugin is kept.
  return handle === undefined || created.migrated ? 'kept' : 'unwanted'
}

/** Reports whether the PersistentVolume is being deleted together with its volume. */
function isBeingDeletedWithVolume({ metadata, spec, status }: PersistentVolume): boolean {
  if (metadata?.deletionTimestamp == null) return false
  return status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete'
}

function nameOf({ metadata }: PersistentVolume): string {
  return metadata?.name ?? ''
}

/**
 * Stores the PersistentVolume of a created volume, or leaves it in `unsaved` for a later try. Returns an error if
 * another PersistentVolume has its name.
 */
export async function settleUnsaved(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { deps } = run
  const name = nameOf(unsaved.pv)
  // An aborted run leaves the entry in `unsaved`, so that a later run stores the PersistentVolume.
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

/** Tries once to store the PersistentVolume. Throws if the attempt must be repeated. */
async function storeUnsaved(run: ClaimRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
  const { memory } = run.deps
  const { claim, pv } = unsaved
  const name = nameOf(pv)
  const conflict = await saveVolume(run, unsaved)
  memory.unsaved.delete(name)
  memory.ended(claim.uid)
  if (conflict !== undefined) return conflict
  if (run.deps.claims.store.get(claim.key)?.uid === claim.uid) recordEvent(run, claim, CLAIM_EVENTS.succeeded(name))
  await releaseClaim(run, claim)
  return undefined
}

/** Records the failure as an event of the claim, because nothing else shows why the claim stays unbound. */
function reportUnsaved(run: ClaimRun, { claim, pv }: Unsaved, error: unknown): void {
  const message = `cannot store the PersistentVolume ${nameOf(pv)}: ${messageOf(error)}`
  run.log.error(error, 'Failed to save persistentvolume', { PV: nameOf(pv) })
  recordEventOnce(run, claim, CLAIM_EVENTS.failed(message))
}

/** Removes our finalizer from the claim. If that fails, the next run of the claim removes the finalizer. */
async function releaseClaim(run: ClaimRun, claim: ProvisionerClaim): Promise<void> {
  const { settings, claimAgain } = run.deps
  if (!isMarked(cachedClaim(claim.uid, run.deps) ?? claim, settings)) return
  try {
    await removeOurFinalizer(run, claim)
  } catch (error) {
    run.signal.throwIfAborted()
    failureLog(error, run.log)?.error(error, 'Failed to remove the finalizer of the claim')
    claimAgain(claim.uid)
  }
}

const WORKERS = 10
/** The back-off with which the Go original retries to store PersistentVolumes. */
const BACKOFF = { baseMs: 5, maxMs: 1_000_000 }

/** Stores PersistentVolumes whose first attempt failed, even if the claims are gone. `source` delivers their names. */
export function storeController(deps: ClaimDeps, source: Source): Controller {
  return {
    name: 'unsavedpvs',
    workers: deps.settings.workers <= 0 ? 0 : WORKERS,
    backoff: BACKOFF,
    // The claim controller has already waited for the caches when it adds keys to this controller.
    caches: [],
    sources: [source],
    wakers: {},
    reconcile: async (name, { signal }) => {
      const unsaved = deps.memory.unsaved.get(name)
      if (unsaved === undefined) return SETTLED
      const run: ClaimRun = { deps, log: deps.log.with({ PV: name }), signal }
      try {
        const conflict = await storeUnsaved(run, unsaved)
        if (conflict !== undefined) recordEventOnce(run, unsaved.claim, CLAIM_EVENTS.failed(conflict.message))
        deps.claimAgain(unsaved.claim.uid)
        forgetGone(unsaved.claim.uid, deps)
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

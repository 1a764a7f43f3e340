import { messageOf } from '@csi-sidecars/base'
import { isPVMigratable, translateInTreePVToCSI } from '@csi-sidecars/csi-translation'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { readSecret } from '../secret.ts'
import { AnswerError } from './failure.ts'
import type { CreatedVolume, Unsaved } from './memory.ts'
import type { ClaimRun } from './run.ts'

type SaveRun = Pick<ClaimRun, 'deps' | 'signal' | 'log'>

/**
 * Stores the PersistentVolume of a created volume. Returns an error if another PersistentVolume has its name: the new
 * volume is then deleted, unless a PersistentVolume names it. Throws if it can be neither stored nor deleted now.
 */
export async function saveVolume(run: SaveRun, unsaved: Unsaved): Promise<AnswerError | undefined> {
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
async function createOrGet({ deps, signal }: SaveRun, pv: PersistentVolume): Promise<PersistentVolume | undefined> {
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
  { deps, signal, log }: Pick<SaveRun, 'deps' | 'signal' | 'log'>,
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
